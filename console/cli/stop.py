"""How a command ends when it does not end well."""

from __future__ import annotations

DONE, FAILED, USAGE, CONNECTION, GATE, AUTH, HOST_KEY, MISMATCH, THRESHOLD = range(9)
TIMED_OUT, INTERRUPTED = 124, 130


class StopError(Exception):
    """Ends the command with an exit code and one sentence for standard error."""

    def __init__(self, exit_code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
        self.sentence = sentence
