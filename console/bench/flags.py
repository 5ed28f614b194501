"""Why a point may not count. Each flag is raised by its cause alone, and says it.

The order is the display order. Thresholds are strict: exactly 1 % of failures or cache hits is still allowed.
`few_samples` greys the p99 columns only; every other flag blocks the words best, faster and speed-up.
"""

from __future__ import annotations

import msgspec

from console.bench.stats import Number
from console.values import Unknown, known

FLAGS = (
    "no_usage", "token_mismatch", "failures", "early_end", "cache_hit", "client_bound", "not_stationary",
    "server_cap", "few_samples", "random_with_drafter", "simulated_acceptance", "throttled", "server_restarted",
    "config_changed", "dummy_weights", "inexact_verification",
)  # fmt: skip
GREYS_P99_ONLY = frozenset({"few_samples"})

ALLOWED_SHARE = 0.01
MAX_LAG_S = 0.005
MAX_CPU = 0.60
MAX_COALESCED = 0.05
MAX_RATE_GAP = 0.03
MAX_DISPATCH_SHARE = 0.01
MAX_CALIBRATED_SHARE = 0.5
P99_REQUESTS = 500
BENIGN_THROTTLE = frozenset({"idle", "power_cap"})

NOT_MEASURED = Unknown("not measured")


class ClientHealth(msgspec.Struct, frozen=True):
    """What a client saw of itself in the window. Shares are 0…1, times seconds, rates per second.

    `warning`: the words of another tool that doubts itself.
    """

    loop_lag_p99_s: Number = NOT_MEASURED
    cpu: Number = NOT_MEASURED
    coalesced: Number = NOT_MEASURED
    dispatch_lag_p95_s: Number = NOT_MEASURED
    events_per_s: Number = NOT_MEASURED
    calibrated_events_per_s: Number = NOT_MEASURED
    warning: str = ""


class PointFacts(msgspec.Struct, frozen=True):
    """Everything that flags look at. Unknown raises nothing, but is kept and shown."""

    concurrency: int
    sent: int
    failed: int
    finished: int
    prompt_tokens: int | Unknown = NOT_MEASURED
    cached_tokens: int | Unknown = NOT_MEASURED
    cache_preset: str = "cold"
    ignore_eos: bool = True
    stopped_early: int = 0
    usage_missing: int = 0
    token_mismatch: int = 0
    client: ClientHealth = ClientHealth()
    client_tps: Number = NOT_MEASURED
    server_tps: Number = NOT_MEASURED
    ttft_p50_s: Number = NOT_MEASURED
    icl_s: tuple[Number, Number, Number] = (NOT_MEASURED, NOT_MEASURED, NOT_MEASURED)
    stationary: bool = True
    max_running_requests: int | Unknown = NOT_MEASURED
    drafter: bool = False
    dataset_class: str = "real"
    simulate_acc_len: str = ""
    throttle_reasons: tuple[str, ...] = ()
    server_start_before: str | int | Unknown = NOT_MEASURED
    server_start_after: str | int | Unknown = NOT_MEASURED
    args_hash_before: str | Unknown = NOT_MEASURED
    args_hash_after: str | Unknown = NOT_MEASURED
    dummy_weights: bool = False
    recurrent_tree: bool = False


class Flag(msgspec.Struct, frozen=True):
    name: str
    cause: str


def blocking(names: list[str] | tuple[str, ...]) -> list[str]:
    """The flags that keep a point from winning."""
    return [name for name in names if name not in GREYS_P99_ONLY]


def flags(facts: PointFacts) -> list[Flag]:
    """All flags of a point in display order, each with its cause as a sentence."""
    raised = {**_of_requests(facts), **_of_client(facts), **_of_server(facts)}
    return [Flag(name, raised[name]) for name in FLAGS if raised.get(name)]


def _of_requests(facts: PointFacts) -> dict[str, str]:
    raised: dict[str, str] = {}
    if facts.usage_missing:
        raised["no_usage"] = f"{facts.usage_missing} successful requests came without usage"
    if facts.token_mismatch:
        raised["token_mismatch"] = f"{facts.token_mismatch} requests: streamed tokens are not the usage"
    if facts.failed > ALLOWED_SHARE * facts.sent:
        raised["failures"] = f"{facts.failed} of {facts.sent} requests failed"
    if facts.ignore_eos and facts.stopped_early:
        raised["early_end"] = f"{facts.stopped_early} answers ended early although the end token was ignored"
    if facts.finished < P99_REQUESTS:
        raised["few_samples"] = f"p99 from {facts.finished} requests, {P99_REQUESTS} needed"
    cached, prompt = facts.cached_tokens, facts.prompt_tokens
    if facts.cache_preset == "cold" and known(cached) and known(prompt) and cached > ALLOWED_SHARE * prompt:
        raised["cache_hit"] = f"{cached} of {prompt} prompt tokens came from the prefix cache"
    if not facts.stationary:
        raised["not_stationary"] = "the rate did not settle"
    return raised


def _of_client(facts: PointFacts) -> dict[str, str]:
    health = facts.client
    limits = (
        ("the event loop was {:.1f} ms late (p99)", _ms(health.loop_lag_p99_s), 1000 * MAX_LAG_S),
        ("the client used {:.0%} of a core", health.cpu, MAX_CPU),
        ("{:.0%} of the reads held several events", health.coalesced, MAX_COALESCED),
        ("client and server rates differ by {:.1%}", _rate_gap(facts), MAX_RATE_GAP),
        ("dispatch lag is {:.1%} of the TTFT", _share(health.dispatch_lag_p95_s, facts.ttft_p50_s), MAX_DISPATCH_SHARE),
        (
            "{:.0%} of the rate this client reached against the mock",
            _share(health.events_per_s, health.calibrated_events_per_s),
            MAX_CALIBRATED_SHARE,
        ),
    )
    causes = [text.format(value) for text, value, limit in limits if known(value) and value > limit]
    causes += [health.warning] if health.warning else []
    median, mean, p99 = facts.icl_s
    if known(median) and known(mean) and known(p99) and median < 0.25 * mean and p99 > 4 * mean:
        causes.append("events arrive in clumps: median gap far below the mean")
    return {"client_bound": "; ".join(causes)} if causes else {}


def _ms(seconds: Number) -> Number:
    return 1000 * seconds if known(seconds) else seconds


def _share(part: Number, whole: Number) -> Number:
    if not known(part) or not known(whole) or whole <= 0:
        return NOT_MEASURED
    return part / whole


def _rate_gap(facts: PointFacts) -> Number:
    if not known(facts.client_tps) or not known(facts.server_tps) or facts.server_tps <= 0:
        return NOT_MEASURED
    return abs(facts.client_tps - facts.server_tps) / facts.server_tps


def _of_server(facts: PointFacts) -> dict[str, str]:
    raised: dict[str, str] = {}
    cap = facts.max_running_requests
    if known(cap) and facts.concurrency > cap:
        raised["server_cap"] = f"{facts.concurrency} asked, the server runs {cap} at once"
    if facts.drafter and facts.dataset_class == "random":
        raised["random_with_drafter"] = "random prompts say nothing about a drafter"
    if facts.simulate_acc_len:
        raised["simulated_acceptance"] = f"SGLANG_SIMULATE_ACC_LEN={facts.simulate_acc_len}"
    throttled = sorted(set(facts.throttle_reasons) - BENIGN_THROTTLE)
    if throttled:
        raised["throttled"] = "GPU clocks were held down: " + ", ".join(throttled)
    if _changed(facts.server_start_before, facts.server_start_after):
        raised["server_restarted"] = "the server was started again in between"
    if _changed(facts.args_hash_before, facts.args_hash_after):
        raised["config_changed"] = "the server's effective arguments changed in between"
    if facts.dummy_weights:
        raised["dummy_weights"] = "the weights are random"
    if facts.recurrent_tree:
        raised["inexact_verification"] = "tree verification is not exact with recurrent layers"
    return raised


def _changed(before: str | int | Unknown, after: str | int | Unknown) -> bool:
    return known(before) and known(after) and before != after
