"""The helper against the real library and a Hub on loopback: access, manifest, facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.demo.hub import FakeHub, User, model_files, text
from tests.support.hub import BOB, EXPIRED, GOOD, SCOPED, WRONG, ask, ask_one, environment, new_hub

TARGET, DRAFTER, HIDDEN = "moonshotai/Kimi-K2.6", "z-lab/Kimi-K2.6-DFlash", "org/private"


@pytest.fixture(scope="module")
def shared_hub() -> Iterator[FakeHub]:
    hub = new_hub()
    hub.add(TARGET, {**model_files(5, 300_000), "modeling_kimi.py": text("print('hello')\n")})
    hub.add(DRAFTER, model_files(1, 200_000, seed=7), gate="manual")
    hub.add(HIDDEN, model_files(1, 1000, seed=9), private_to=frozenset({"alice"}))
    with hub:
        yield hub


@pytest.fixture
def hub(shared_hub: FakeHub) -> Iterator[FakeHub]:
    """The shared Hub, with every switch back in place afterwards."""
    before = dict(vars(shared_hub.faults))
    yield shared_hub
    vars(shared_hub.faults).update(before)
    shared_hub.page, shared_hub.xet = 1000, False
    shared_hub.repos[DRAFTER].standings.clear()
    shared_hub.repos[TARGET].disabled = False


def test_a_repository_is_ready_when_its_content_answers(hub: FakeHub, tmp_path: Path) -> None:
    hub.page = 3
    answer = ask_one({"op": "repo", "repo": TARGET}, environment(hub, tmp_path))
    files = hub.repos[TARGET].files()
    assert answer["access"]["state"] == "ready"
    assert answer["commit"] == hub.repos[TARGET].branches["main"]
    assert {file["path"]: file["size"] for file in answer["files"]} == {path: item.size for path, item in files.items()}
    shard = next(file for file in answer["files"] if file["path"] == "model-00001-of-00005.safetensors")
    assert shard["sha256"] == files[shard["path"]].sha256
    config = next(file for file in answer["files"] if file["path"] == "config.json")
    assert (config["sha256"], config["git_sha1"]) == (None, files["config.json"].git_sha1)
    assert answer["probe"] == shard["path"]
    assert answer["index"]["total_size"] == 1_500_000
    assert len(answer["index"]["shards"]) == 5
    assert answer["texts"]["config.json"] == files["config.json"].head.decode()
    assert [(code["path"], code["sha256"]) for code in answer["code"]] == [
        ("modeling_kimi.py", files["modeling_kimi.py"].sha256)
    ]


def test_filters_choose_what_the_library_would_download(hub: FakeHub, tmp_path: Path) -> None:
    request = {"op": "repo", "repo": TARGET, "include": ["*.json", "model-00001*"], "exclude": ["tokenizer*"]}
    answer = ask_one(request, environment(hub, tmp_path))
    assert [file["path"] for file in answer["files"]] == [
        "config.json",
        "generation_config.json",
        "model-00001-of-00005.safetensors",
        "model.safetensors.index.json",
    ]


def test_a_size_that_the_hub_does_not_say_stays_unknown(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.no_sizes = True
    answer = ask_one({"op": "repo", "repo": TARGET}, environment(hub, tmp_path))
    assert [file["size"] for file in answer["files"] if file["sha256"]] == [None] * 5


@pytest.mark.parametrize(
    ("token", "standing", "state"),
    [
        (None, None, "login_required"),
        (BOB, None, "request_needed"),
        (BOB, "pending", "request_pending"),
        (BOB, "rejected", "request_rejected"),
        (BOB, "accepted", "ready"),
        (SCOPED, None, "token_scope"),
        (EXPIRED, None, "token_invalid"),
        (WRONG, None, "token_invalid"),
    ],
)
def test_a_gate_is_named(hub: FakeHub, tmp_path: Path, token: str | None, standing: str | None, state: str) -> None:
    if standing:
        hub.repos[DRAFTER].standings["bob"] = standing  # type: ignore[assignment]
    answer = ask_one({"op": "repo", "repo": DRAFTER}, environment(hub, tmp_path, token))
    assert answer["access"]["state"] == state
    if token not in (EXPIRED, WRONG):  # the listing answers although the content does not
        assert sum(file["size"] for file in answer["files"]) > 200_000


def test_a_hidden_repository_is_not_a_gated_one(hub: FakeHub, tmp_path: Path) -> None:
    (anonymous,) = ask([{"op": "repo", "repo": HIDDEN}], environment(hub, tmp_path))
    other, missing = ask(
        [{"op": "repo", "repo": name} for name in (HIDDEN, "no/such")], environment(hub, tmp_path, BOB)
    )
    owner = ask_one({"op": "repo", "repo": HIDDEN}, environment(hub, tmp_path, GOOD))
    states = [answer["ok"]["access"]["state"] for answer in (anonymous, other, missing)]
    assert states == ["missing_or_private", "not_visible_to_user", "not_visible_to_user"]
    assert owner["access"]["state"] == "ready"


def test_content_decides_and_not_the_check_alone(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.paths, hub.faults.status, hub.faults.status_left = (".safetensors",), 403, 1
    answer = ask_one({"op": "repo", "repo": TARGET}, environment(hub, tmp_path))
    assert answer["access"]["state"] == "forbidden_other"
    assert answer["access"]["text"] == "try again later"


@pytest.mark.parametrize(
    ("status", "headers", "state", "wait_s"),
    [
        (429, {"ratelimit": '"api";r=0;t=55'}, "rate_limited", 55),
        (429, {"Retry-After": "30"}, "rate_limited", 30),
        (503, {}, "hub_error", None),
    ],
)
def test_a_refusal_of_the_hub_itself(
    hub: FakeHub, tmp_path: Path, status: int, headers: dict[str, str], state: str, wait_s: int | None
) -> None:
    hub.faults.status, hub.faults.status_left, hub.faults.status_headers = status, 99, headers
    access = ask_one({"op": "repo", "repo": TARGET}, environment(hub, tmp_path))["access"]
    assert (access["state"], access["retry_after_s"]) == (state, wait_s)


def test_what_stands_between_the_box_and_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    def state(revision: str = "main", **env: str) -> str:
        request = {"op": "repo", "repo": TARGET, "revision": revision}
        return str(ask_one(request, environment(hub, tmp_path, **env))["access"]["state"])

    assert state(HF_ENDPOINT="http://127.0.0.1:9") == "unreachable_refused"
    assert state(HF_ENDPOINT="http://no-such-host.invalid") == "unreachable_dns"
    assert state(HF_ENDPOINT="http://192.0.2.1", HTTP_PROXY="http://127.0.0.1:9") == "unreachable_proxy"
    assert state(HF_ENDPOINT=hub.endpoint.replace("http", "https")) == "unreachable_tls"
    assert state(HF_ENDPOINT="huggingface.co") == "endpoint_bad"
    assert state(HF_HUB_OFFLINE="1") == "offline_mode"
    assert state(revision="v9") == "revision_missing"
    hub.faults.no_commit_header = True
    assert state() == "endpoint_bad"
    hub.repos[TARGET].disabled = True
    assert state() == "disabled"


def test_tokens_are_proved_and_never_printed(hub: FakeHub, tmp_path: Path) -> None:
    place = tmp_path / "token"

    def status(**env: str) -> tuple[str, str, str | None]:
        facts = ask_one({"op": "token_status"}, environment(hub, tmp_path, **env))
        return facts["state"], facts["source"], facts["who"]

    assert status() == ("absent", "none", None)
    assert status(HF_TOKEN="") == ("empty", "none", None)
    place.write_text("  \n")
    assert status() == ("empty", "none", None)
    place.write_text(f"  {GOOD}\r\n")
    assert status() == ("valid", "file", "alice")
    assert status(HF_TOKEN=WRONG) == ("rejected", "env:HF_TOKEN", None)
    assert status(HF_TOKEN=EXPIRED) == ("rejected", "env:HF_TOKEN", None)
    assert status(HF_TOKEN=f'"{GOOD}"') == ("rejected", "env:HF_TOKEN", None)
    assert status(HF_ENDPOINT="http://127.0.0.1:9") == ("unreachable", "file", None)


def test_a_token_goes_into_the_librarys_place(hub: FakeHub, tmp_path: Path) -> None:
    home, env = tmp_path / "home", environment(hub, tmp_path / "home")
    written = ask_one({"op": "token_set", "token": GOOD + "\n"}, env)
    assert (written["written"], written["given"]["who"], written["used"]["state"]) == (True, "alice", "valid")
    assert (home / "token").read_text() == GOOD
    assert (home / "token").stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    refused = ask_one({"op": "token_set", "token": WRONG}, env)
    assert (refused["written"], refused["given"]["state"], refused["used"]["who"]) == (False, "rejected", "alice")
    broken = ask_one({"op": "token_set", "token": f"{GOOD}\n{BOB}"}, env)
    assert (broken["written"], broken["shape"]) == (False, "line_break")
    beaten = ask_one({"op": "token_set", "token": GOOD}, {**env, "HF_TOKEN": BOB})
    assert (beaten["written"], beaten["used"]["source"], beaten["used"]["who"]) == (True, "env:HF_TOKEN", "bob")
    cleared = ask_one({"op": "token_clear"}, env)
    assert (cleared["removed"], cleared["used"]["state"]) == (True, "absent")
    assert ask_one({"op": "token_clear"}, env)["removed"] is False


def test_one_process_answers_for_both_repositories(hub: FakeHub, tmp_path: Path) -> None:
    hub.tokens["hf_third00000000"] = User("third")
    ops = [{"op": "token_status"}, {"op": "repo", "repo": TARGET}, {"op": "repo", "repo": DRAFTER}]
    answers = [answer["ok"] for answer in ask(ops, environment(hub, tmp_path, BOB))]
    assert [answers[0]["who"], answers[1]["access"]["state"], answers[2]["access"]["state"]] == [
        "bob",
        "ready",
        "request_needed",
    ]
