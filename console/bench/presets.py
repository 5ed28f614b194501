"""Six ways to measure, what each costs, and the worker's configuration that follows.

`smoke` a first look · `sweep` the capacity curve · `publish` with repeats and long windows · `accept` real prompts
until their end · `slo` Poisson arrivals against latency limits (MLPerf's for DeepSeek-R1 by default) · `exact` every
prompt once, greedily, one at a time: its answers are compared with those of the autoregressive server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from console.bench.datasets import Dataset, DatasetError
from console.values import Unknown, format_duration

FLUSH_S = 5.0
WARMUP_MAX_S = 90.0
WARMUP_LIKELY_S = 25.0
CALIBRATE_S = 5.0
OFFERED_PER_S = 100_000  # more than a client takes: what it reaches must be its limit, not the offer
BIN_S = 5.0
SERVER_START_S = 600.0
LONG_OUTPUT_BELOW = 64
MAX_CONCURRENCY = 4096
EXACT = "exact"

# p99 limits in seconds (MLPerf inference, server scenario): time to the first token, time per output token.
SLOS: dict[str, dict[str, float]] = {
    "deepseek-r1": {"ttft": 2.0, "tpot": 0.080},
    "deepseek-r1-interactive": {"ttft": 1.5, "tpot": 0.015},
    "llama-3.1-405b": {"ttft": 6.0, "tpot": 0.175},
    "llama-2-70b": {"ttft": 2.0, "tpot": 0.200},
    "llama-2-70b-interactive": {"ttft": 0.45, "tpot": 0.040},
    "gpt-oss-120b": {"ttft": 3.0, "tpot": 0.080},
    "gpt-oss-120b-interactive": {"ttft": 2.0, "tpot": 0.020},
}


class Preset(msgspec.Struct, frozen=True):
    """`osl_high` is the output length from C = 64 on; `rates` (requests per second) make it open loop; `once`: a point
    ends when every prompt has been answered, and keeps a hash of each answer."""

    name: str
    concurrency: tuple[int, ...] = (1, 8)
    isl: int = 1024
    osl: int = 1024
    osl_high: int = 256
    window_s: float = 20.0
    window_max_s: float = 40.0
    repeats: int = 1
    dataset: str = "random-ids"
    ignore_eos: bool = True
    temperatures: tuple[float, ...] = (0.0,)
    cache: str = "cold"
    backend: str = "generate"
    slo: dict[str, float] = msgspec.field(default_factory=lambda: dict(SLOS["deepseek-r1"]))
    rates: tuple[float, ...] = ()
    alternate: bool = False
    once: bool = False


POWERS = tuple(2**i for i in range(9))
PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("smoke", osl=256),
        Preset("sweep", concurrency=POWERS, window_s=60.0, window_max_s=120.0),
        Preset("publish", concurrency=POWERS, window_s=180.0, window_max_s=360.0, repeats=3, alternate=True),
        Preset(
            "accept",
            dataset="own",
            osl=1024,
            osl_high=1024,
            window_s=60.0,
            window_max_s=120.0,
            ignore_eos=False,
            temperatures=(0.0, 1.0),
        ),
        Preset(
            EXACT,
            concurrency=(1,),
            dataset="own",
            osl=128,
            osl_high=128,
            window_s=300.0,
            window_max_s=1800.0,
            ignore_eos=False,
            once=True,
        ),
        Preset("slo", concurrency=(256,), window_s=600.0, window_max_s=600.0, rates=(1.0, 2.0, 4.0, 8.0, 16.0)),
    )
}


def fitting(preset: Preset, data: Dataset) -> Dataset:
    """The data set, if this preset can ask it. Raises DatasetError."""
    if preset.once and (data.kind != "texts" or preset.backend != "generate"):
        raise DatasetError("answers are compared on prompts of their own (own, or a JSONL file), by backend generate")
    return data


class PlannedPoint(msgspec.Struct, frozen=True):
    """One point to measure. `variant` keeps points of different sampling apart."""

    name: str
    concurrency: int
    repeat: int
    osl: int
    temperature: float
    variant: str = ""
    rate: float | Unknown = Unknown("closed loop")


def planned(preset: Preset) -> list[PlannedPoint]:
    """All points in measuring order: a repeat is a round over all concurrencies, so that drifts hit all alike."""
    points: list[PlannedPoint] = []
    for repeat in range(preset.repeats):
        for temperature in preset.temperatures:
            variant = f"t{temperature:g}" if len(preset.temperatures) > 1 else ""
            for users in preset.concurrency:
                osl = preset.osl if users < LONG_OUTPUT_BELOW else preset.osl_high
                for rate in preset.rates or (None,):
                    head = f"c{users:04d}" if rate is None else f"q{rate:g}"
                    name = "-".join(filter(None, (head, variant, f"r{repeat}")))
                    offered: float | Unknown = Unknown("closed loop") if rate is None else rate
                    points.append(PlannedPoint(name, users, repeat, osl, temperature, variant, offered))
    return points


_NAME = re.compile(r"(?:c(\d+)|q([\d.e+-]+?))(?:-t([\d.e-]+?))?-r(\d+)")


def spoken(name: str) -> str:
    """A point's name for a person: `c0008-r1` is `C = 8, round 2`; another name is itself."""
    found = _NAME.fullmatch(name)
    if found is None:
        return name
    users, rate, temperature, repeat = found.groups()
    parts = [f"C = {int(users)}" if users else f"{rate} requests/s"]
    parts += [f"temperature {temperature}"] if temperature else []
    return ", ".join([*parts, *([f"round {int(repeat) + 1}"] if int(repeat) else [])])


class Estimate(msgspec.Struct, frozen=True):
    """Seconds of one configuration, without the server's start."""

    points: int
    likely_s: float
    longest_s: float

    def __str__(self) -> str:
        number = "1 point" if self.points == 1 else f"{self.points} points"
        return f"{number}, about {format_duration(self.likely_s)}, at most {format_duration(self.longest_s)}"


def estimate(preset: Preset) -> Estimate:
    """The price, told before the start: each point costs its flush, its warm-up and its window."""
    count = len(planned(preset))
    likely = CALIBRATE_S + count * (FLUSH_S + WARMUP_LIKELY_S + preset.window_s)
    return Estimate(count, likely, CALIBRATE_S + count * (FLUSH_S + WARMUP_MAX_S + preset.window_max_s))


class Target(msgspec.Struct, frozen=True):
    """The server to measure, as the box sees it. `gpus`: UUIDs it really holds."""

    host: str
    port: int
    model: str
    gpus: tuple[str, ...] = ()


def worker_config(
    preset: Preset, wanted: Sequence[PlannedPoint], data: Dataset, target: Target, nonce_seed: str
) -> dict[str, Any]:
    """The load worker's configuration for these points of a preset."""
    points = []
    for point in wanted:
        spec: dict[str, Any] = {
            "name": point.name,
            "concurrency": point.concurrency,
            "repeat": point.repeat,
            "osl": point.osl,
            "variant": point.variant,
            "sampling": {"temperature": point.temperature},
        }
        if not isinstance(point.rate, Unknown):
            spec |= {"rate": point.rate, "cap": point.concurrency}
        points.append(spec)
    return {
        "host": target.host,
        "port": target.port,
        "model": target.model,
        "backend": preset.backend,
        "ignore_eos": preset.ignore_eos,
        "osl": preset.osl,
        "cache": preset.cache,
        "once": preset.once,
        "dataset": data.for_worker(),
        "nonce_seed": nonce_seed,
        "points": points,
        "bin_s": min(BIN_S, preset.window_s / 4),
        "warmup_max_s": WARMUP_MAX_S,
        "window_s": preset.window_s,
        "window_max_s": preset.window_max_s,
        "flush_s": 60.0,
        "drain_s": 30.0,
        "calibrate_s": 0.0 if preset.once else min(CALIBRATE_S, preset.window_s / 4),
        "offered_per_s": OFFERED_PER_S,
        "gpus": list(target.gpus),
        "max_s": 2 * estimate(preset).longest_s + 600,
    }


def setup(preset: Preset, data: Dataset) -> dict[str, Any]:
    """The part of the comparison that the preset and the data set decide."""
    lengths = sorted({point.osl for point in planned(preset)})
    output = "/".join(map(str, lengths))
    ids = data.kind == "ids"
    return {
        "dataset_sha": data.sha256,
        "input_spec": data.input_spec,
        "output_spec": f"{'fixed' if preset.ignore_eos else 'max'}:{output}",
        "ignore_eos": preset.ignore_eos,
        "sampling": ",".join(f"temperature={t:g}" for t in preset.temperatures),
        "cache_preset": preset.cache,
        "load_mode": "once" if preset.once else "poisson" if preset.rates else "closed",
        "prompt_format": "input_ids" if ids else "text" if preset.backend == "generate" else "chat",
    }
