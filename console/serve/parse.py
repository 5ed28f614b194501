"""SGLang's log, parsed: 0.5.11 and 0.5.23, any chunking, ≥ 50,000 lines a second.

Source of the formats: captures of both versions (tests/recordings/sglang-*). A line that no format knows is
`text`; nothing is ever dropped but blank lines.
"""

from __future__ import annotations

import re
from typing import Any

from console.serve.cut import FRAME, LineCutter
from console.serve.formats import message_fields
from console.serve.record import Record
from console.values import CleanText

_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)((?: [A-Z_]{1,20}\d{1,9}){0,9})\] ?")
_RANK = re.compile(r" ([A-Z_]+?)(\d+)")
_PARAMETER = re.compile(r"(\w{1,60})=(\d{1,15}(?:\.\d{1,20})?)")
_CLI_ERROR = re.compile(r"[\w./ -]+?: error: (?P<message>.+)")
_CHOICE = re.compile(r"argument (?P<flag>[^:]+): invalid choice: '?(?P<value>[^' ]*)'? \(choose from (?P<choices>.*)\)")
_AMBIGUOUS = re.compile(r"ambiguous option: (?P<flag>\S+) could match (?P<candidates>.*)")
_ARGUMENT = re.compile(r"argument (?P<flag>[^:]+): ")
_ERROR = re.compile(
    r"(?P<type>(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Expired))(?::\s?(?P<message>.*))?$"
)
_ERROR_IN_TRACEBACK = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?::\s?(?P<message>.*))?$")
_NO_RANKS: dict[str, int] = {}


class LogParser:
    """Feed it the bytes of a log as they come; it answers with records."""

    def __init__(self) -> None:
        self._cutter = LineCutter()
        self._in_traceback = False

    def feed(self, data: bytes) -> list[Record]:
        return [self._parse(piece) for piece in self._cutter.feed(data)]

    def close(self) -> list[Record]:
        """The log has ended: what is left is a line."""
        return [self._parse(piece) for piece in self._cutter.close()]

    @property
    def frame(self) -> Record | None:
        """The progress frame at the growing end, which has no separator behind it yet."""
        match = FRAME.match(self._cutter.rest)
        return _progress(match) if match else None

    def _parse(self, text: CleanText) -> Record:
        stamp = _STAMP.match(text)
        if stamp is not None:
            return self._stamped(stamp, CleanText(text[stamp.end() :]))
        frame = FRAME.match(text)
        return _progress(frame) if frame is not None else self._bare(text)

    def _stamped(self, stamp: re.Match[str], text: CleanText) -> Record:
        suffix = stamp.group(2)
        ranks = {name: int(number) for name, number in _RANK.findall(suffix)} if suffix else _NO_RANKS
        kind, fields = message_fields(text)
        self._in_traceback = text.endswith("Traceback (most recent call last):")
        return Record(kind=kind, stamp=stamp.group(1), ranks=ranks, fields=fields, text=text)

    def _bare(self, text: CleanText) -> Record:
        """A line without a stamp: a traceback, a warning, the command line's error."""
        if text.endswith("Traceback (most recent call last):"):
            self._in_traceback = True
        elif text[0] != " ":
            error = (_ERROR_IN_TRACEBACK if self._in_traceback else _ERROR).match(text)
            if error is not None:
                self._in_traceback = False
                fields = {"type": error.group("type"), "message": error.group("message") or ""}
                return _bare_record("error", fields, text)
            usage = _CLI_ERROR.match(text)
            if usage is not None:
                return _bare_record("cli_error", _cli_error(usage.group("message")), text)
        return _bare_record("text", {"text": text}, text)


def _bare_record(kind: str, fields: dict[str, Any], text: CleanText) -> Record:
    return Record(kind=kind, stamp=None, ranks=_NO_RANKS, fields=fields, text=text)


def _clock(text: str) -> int | None:
    """`MM:SS` or `H:MM:SS` in seconds; None for `?`."""
    if "?" in text:
        return None
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part)
    return seconds


def _progress(frame: re.Match[str]) -> Record:
    task, _, parameters = frame.group("task").strip().rstrip(":").partition(" (")
    rate = None if frame.group("rate") == "?" else float(frame.group("rate"))
    if rate and frame.group("unit") == "s/it":
        rate = 1 / rate
    fields: dict[str, Any] = {
        "done": int(frame.group("done")),
        "total": int(frame.group("total")),
        "percent": int(frame.group("percent")),
        "elapsed_s": _clock(frame.group("elapsed")),
        "eta_s": _clock(frame.group("eta")),
        "task": task or None,
        "it_per_s": rate,
    }
    for name, value in _PARAMETER.findall(parameters):
        fields["avail_gb" if name == "avail_mem" else name] = float(value) if "." in value else int(value)
    return _bare_record("progress", fields, CleanText(frame.group(0)))


def _cli_error(message: str) -> dict[str, Any]:
    """The one useful line behind argparse's usage dump."""
    if found := _CHOICE.match(message):
        choices = [choice.strip().strip("'") for choice in found.group("choices").split(",")]
        named = {"flag": found.group("flag"), "value": found.group("value"), "choices": choices}
        return {"message": message, "error": "invalid_choice", **named}
    if found := _AMBIGUOUS.match(message):
        candidates = [name.strip() for name in found.group("candidates").split(",")]
        return {"message": message, "error": "ambiguous", "flag": found.group("flag"), "candidates": candidates}
    if message.startswith("unrecognized arguments: "):
        return {"message": message, "error": "unrecognized", "flag": message.split(": ", 1)[1].split(" ")[0]}
    if found := _ARGUMENT.match(message):
        return {"message": message, "error": "bad_value", "flag": found.group("flag")}
    return {"message": message, "error": "other"}
