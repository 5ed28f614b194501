"""Log lines as long and as odd as a stranger likes: no pattern takes time that grows faster than the line."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.agent.log_lines import mask_log
from console.agent.masking import mask_argv
from console.cli.scrub import Scrubber
from console.serve.parse import LogParser
from console.serve.story import Story
from console.values import clean
from console.values.secrets import redact

SIZE = 50_000
LIMIT_S = 1.0
STAMP = "[2026-01-31 22:15:04 TP0] "
UNITS = (
    "L", "a-", "--a", "-", "a=", "a='", '"a":', "://a:", "a:", "hf_", "hf_a", "sk-", "bearer ", "1", "1.", "1,", " ",
    "\t", "[", "](", "{", "#", "\x1b]", "\x1b[1;", "\r", "é", "\u0300", "%|", "|", "100%|", "100%| ", "it/s]", STAMP,
    "TP0 ", "a@", "/home/", "1.2.3.4", "::", "\\", "'", '"', "key=", "api_key=", "--api-key ", "_", "A1", "A.",
    "Decode batch, #running-req: 1, ", "a, ", "a: 1", "graph ", "..", "type=", "avail mem",
)  # fmt: skip
BEGINNINGS = (
    "", STAMP, "INFO:     ", "Loading x:   0%|", STAMP + "Decode batch, ", STAMP + "Load weight end ",
    STAMP + "Capture ", STAMP + "KV Cache is allocated", STAMP + "max_total_num_tokens=", STAMP + "INFO:   ",
    STAMP + "Subprocess ", STAMP + "Engine startup timings", STAMP + "server_args=",
    "--api-key='", "x: error: argument ", "ValueError",
)  # fmt: skip


def story(data: bytes) -> None:
    parser, told = LogParser(), Story()
    for record in [*parser.feed(data), *parser.feed(b"\n"), *parser.close()]:
        told.add(record)
    _ = parser.frame


def scrub(data: bytes) -> None:
    scrubber, text = Scrubber(), data.decode("utf-8", "replace")
    scrubber.learn({"host": text, "text": text})
    scrubber.clean({"text": text})


READERS: dict[str, Callable[[bytes], object]] = {
    "mask_log": mask_log,
    "mask_argv": lambda data: mask_argv([*["--api-key", data.decode("utf-8", "replace")] * 2]),
    "story": story,
    "clean": clean,
    "redact": lambda data: redact(data.decode("utf-8", "replace")),
    "scrub": scrub,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_line(name: str) -> None:
    late = []
    for unit in UNITS:
        for beginning in BEGINNINGS if name == "story" else ("",):
            data = (beginning + unit * (SIZE // len(unit))).encode()
            began = time.process_time()
            READERS[name](data)
            if time.process_time() - began > LIMIT_S:
                late.append((beginning, unit))
    assert not late


PIECES = st.lists(st.sampled_from([*UNITS, *BEGINNINGS, "\n", "9" * 5000, "nan", "1e999", "-1", "?", "<", "s/it"]))


@settings(max_examples=200, deadline=None)
@given(PIECES)
def test_no_line_breaks_a_reader(pieces: list[str]) -> None:
    for reader in READERS.values():
        reader("".join(pieces).encode())
