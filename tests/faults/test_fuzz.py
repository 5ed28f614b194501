"""Recordings and results from strangers, damaged anywhere: read, or refused in one sentence, in bounded memory.

FUZZ_S: seconds for each kind of file (by default the same few variants everywhere); FUZZ_SEED: where chance begins.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from console.bench.importers import ImportFormatError, import_file
from console.bench.points import point_json
from console.journal import RecordingError
from console.session.replay import Replay, play
from console.values import to_json
from console.views.replay import replay_lines, replay_object
from tests.support import fault_log

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
RECORDINGS = sorted(path for path in (TESTS / "recordings").rglob("*.jsonl*"))
RESULTS = sorted(path for path in (TESTS / "captures" / "bench-tools").iterdir())
TOOLS = {
    "sglang": "SGLang", "vllm": "vLLM, written from its documentation", "guidellm": "GuideLLM", "aiperf": "AIPerf",
}  # fmt: skip
FUZZ_S = float(os.environ.get("FUZZ_S", "0"))
VARIANTS = 450  # at least
SEED = int(os.environ.get("FUZZ_SEED", "12"))
MOST_LINES = 60  # of a recording, so that many variants are tried
MEMORY = 96 << 20  # that the whole fuzzing may add
BOMB_MEMORY = 900 << 20  # address space of a process that is given a bomb
BITS = (
    b"NaN",
    b"1e999",
    b"-1",
    b"null",
    b"[]",
    b"{}",
    b'"\\ud800"',
    b"9" * 400,
    b"[" * 3000,
    b"\x1b]52;c;x\x07",
    b"\xff",
)


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def damaged(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Bytes flipped, a piece cut out, an end cut off, a value put in, or lines of another file spliced in."""
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        way = rng.randrange(6)
        if way == 0:
            flipped = bytearray(data)
            for _ in range(rng.randint(1, 20)):
                flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
            data = bytes(flipped)
        elif way == 1:
            data = data[:a] + data[min(b, a + rng.randint(1, 400)) :]
        elif way == 2:
            data = data[: max(a, len(data) // 8)]
        elif way == 3:
            at = max(data.rfind(b":", 0, b), data.rfind(b",", 0, b)) + 1
            data = data[:at] + rng.choice(BITS) + data[at + rng.randint(0, 12) :]
        elif way == 4:
            mine, theirs = data.split(b"\n"), rng.choice(others).split(b"\n")
            at = rng.randrange(len(mine) + 1)
            data = b"\n".join([*mine[:at], *rng.sample(theirs, min(5, len(theirs))), *mine[at:]])
        else:
            packed = gzip.compress(data, 1)
            return packed[: rng.randint(1, len(packed))] if rng.random() < 0.5 else packed
        data = data or b"\n"
    return data


def part(rng: random.Random, data: bytes) -> bytes:
    """The header and a run of lines from anywhere."""
    header, *lines = data.split(b"\n")
    start = rng.randrange(max(1, len(lines) - MOST_LINES))
    return b"\n".join([header, *lines[start : start + MOST_LINES], b""])


def replayed(path: Path) -> bool:
    """Whether it was a recording: then the whole state can be told; else one sentence says why not."""
    try:
        replay = Replay(path)
    except RecordingError as error:
        assert_sentence(str(error))
        return False
    play(replay, None)
    json.dumps(to_json(replay_object(replay.state, replay.warnings)))
    assert replay_lines(replay.state, replay.warnings, replay.header.at(replay.state.t))
    return True


def imported(data: bytes) -> bool:
    """Whether it was a result: then every number of it is one; else one sentence says why not."""
    try:
        run = import_file(data, "result.json")
    except ImportFormatError as error:
        assert_sentence(str(error))
        return False
    for point in run.points:
        json.dumps(point_json(point), allow_nan=False)
    return True


def assert_sentence(text: str) -> None:
    assert 0 < len(text) < 500
    assert text.isprintable()


def fuzz(what: str, corpus: list[bytes], tried: Callable[[bytes, random.Random], bool]) -> None:
    """Variants until there are enough and the time is over; one that breaks is found again by its seed."""
    began, memory = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    variants = read = 0
    while variants < VARIANTS or time.monotonic() - began < FUZZ_S:
        seed = SEED * 1_000_000 + variants
        rng = random.Random(seed)
        data = rng.choice(corpus)
        try:
            read += tried(data, rng)
        except Exception as error:
            error.add_note(f"variant with seed {seed}")
            raise
        variants += 1
    assert 0 < read < variants, "some can be read, some cannot"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - memory < MEMORY
    fault_log.tell_fuzz(what, time.monotonic() - began, variants, read, len(corpus), sum(map(len, corpus)))


def test_damaged_recordings(tmp_path: Path) -> None:
    corpus = [unpacked(path) for path in RECORDINGS]
    file = tmp_path / "damaged.jsonl"

    def tried(data: bytes, rng: random.Random) -> bool:
        file.write_bytes(damaged(rng, part(rng, data), corpus))
        return replayed(file)

    fuzz("recordings", corpus, tried)


@pytest.mark.parametrize("tool", TOOLS)
def test_damaged_results(tool: str) -> None:
    """Pieces of all tools' results are spliced into those of one."""
    every = [unpacked(path) for path in RESULTS]
    corpus = [data for path, data in zip(RESULTS, every, strict=True) if path.name.startswith(tool)]
    fuzz(f"results of {TOOLS[tool]}", corpus, lambda data, rng: imported(damaged(rng, data, every)))


HEADER = b'{"gpudeck":"1","schema":1,"started":"2026-01-01T00:00:00Z","hosts":["box"]}\n'
BOMBS: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "a recording's line without end": ("--replay", lambda: [HEADER, *[b"x" * (1 << 24)] * 64]),
    "a recording's header without end": ("--replay", lambda: [b" " * (1 << 24)] * 64),
    "a recording of long notes": (
        "--replay",
        lambda: [HEADER, *[b'[1,1,"NoteWritten",{"text":"' + b"y" * 900_000 + b'"}]\n'] * 1000],
    ),
    "a recording of many boxes and kinds": (
        "--replay",
        lambda: [
            HEADER,
            *(b'[1,1,"PingAnswered",{"host":"%d","rtt_s":1}]\n[1,1,"K%d",{}]\n' % (n, n) for n in range(50_000)),
        ],
    ),
    "a result of zeros": ("import", lambda: [b"0" * (1 << 24)] * 64),
    "a result of lists": ("import", lambda: [b"[", *[b"[]," * (1 << 22)] * 16]),
    "a result of numbers": ("import", lambda: [b"[", *[b"300," * (1 << 22)] * 4, b"1]"]),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_gzip_bomb_is_refused_or_read_in_bounded_memory(bomb: str, tmp_path: Path) -> None:
    kind, pieces = BOMBS[bomb]
    file = tmp_path / "bomb.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.writelines(pieces())
    command = ["runs", "import", str(file)] if kind == "import" else ["--replay", str(file), "--headless"]
    homes = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    done = subprocess.run(
        [sys.executable, "-m", "console", *command], env={**os.environ, **homes}, cwd=TESTS.parent, timeout=600,
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BOMB_MEMORY, BOMB_MEMORY)),
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert done.stderr.strip().endswith(".")
    else:
        assert kind == "--replay"
        assert done.stdout.startswith("REPLAY")
