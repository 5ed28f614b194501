"""A terminal driver that sleeps until there is input: Textual's own wakes ten times a second to look for some."""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from select import select
from typing import Any

from textual import constants
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

MOST_BYTES = 4096


class PatientDriver(LinuxDriver):
    """Of a console on a quiet box, a tenth of all that it costs were those looks."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._told, self._tell = os.pipe()  # readable when the reading is to end; open as long as the program runs

    def start_application_mode(self) -> None:
        """Also after a SIGCONT that no SIGTSTP came before: one reader, and the terminal goes back to what it was."""
        reading, before = self._key_thread is not None and self._key_thread.is_alive(), self.attrs_before
        if reading:
            self.disable_input()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if reading:
            self.attrs_before = before

    def run_input_thread(self) -> None:
        """Read and dispatch until the end is told. Only an unfinished escape sequence is waited for with a limit."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")().decode
        sources = [self._told, self.fileno]
        while not self.exit_event.is_set():
            ready, _, _ = select(sources, [], [], constants.ESCAPE_DELAY if parser._timeout_time is not None else None)
            if self.fileno in ready:
                data = os.read(self.fileno, MOST_BYTES)
                if not data:  # a pipe that ended stays readable
                    sources.remove(self.fileno)
                for event in parser.feed(decode(data)) if data else ():
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)

    def disable_input(self) -> None:
        """End the reading."""
        os.write(self._tell, b".")
        super().disable_input()
        os.read(self._told, 1)
