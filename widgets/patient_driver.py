"""A terminal driver that sleeps until there is input: Textual's own wakes ten times a second to look for some."""

from __future__ import annotations

import asyncio
import os
import signal
from codecs import getincrementaldecoder
from select import select
from threading import Thread
from typing import Any

from textual import constants
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.message import Message

MOST_BYTES = 4096


class PatientDriver(LinuxDriver):
    """Of a console on a quiet box, a tenth of all that it costs were those looks."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._told, self._tell = os.pipe()  # readable when the reading is to end; open as long as the program runs
        self._has_terminal = False
        # By the loop, between two callbacks: Textual takes these signals wherever Python happens to be, in the midst of
        # a write to its own queue or of an earlier one's handler, which locks up or leaves a second reader behind.
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._sigtstp_application)
        loop.add_signal_handler(signal.SIGCONT, self._sigcont_application)

    def _sigtstp_application(self, *_: Any) -> None:
        """Stop, and with it the rest of the job that a shell made of it, `make` or `sh -c`.

        Not before the terminal is given back: once one process of the job has stopped, the shell takes it.
        """
        self.suspend_application_mode()
        self._must_signal_resume = True
        if os.getsid(0) == os.getpgrp():  # no shell's job: nobody would continue the others
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            os.killpg(0, signal.SIGSTOP)

    def _sigcont_application(self, *_: Any) -> None:
        """Take the terminal again and say so, but not at the end, when it was given back for good."""
        if self._has_terminal or self._must_signal_resume:
            self._must_signal_resume = True  # also after a SIGSTOP, which nobody sees coming
            super()._sigcont_application()

    def start_application_mode(self) -> None:
        """Also after a SIGCONT that no SIGTSTP came before: one reader, one writer, no key lost, the modes kept."""
        self._has_terminal = True
        if self._key_thread is None or not self._key_thread.is_alive():
            super().start_application_mode()  # type: ignore[no-untyped-call]
            return
        self._end_reading(self._key_thread)
        self.close()
        before = self.attrs_before
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.attrs_before = before

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        self._has_terminal = False
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Read and dispatch until the end is told. Only an unfinished escape sequence is waited for with a limit."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")().decode
        sources = [self._told, self.fileno]
        while not self.exit_event.is_set():
            ready, _, _ = select(sources, [], [], constants.ESCAPE_DELAY if parser._timeout_time is not None else None)
            if self.fileno in ready:
                data = os.read(self.fileno, MOST_BYTES)
                if not data and not os.isatty(self.fileno):  # ended, or a terminal that hung up: readable from now on
                    sources.remove(self.fileno)
                text = decode(data)  # none yet of half a character, and no text means the end to the parser
                for event in parser.feed(text) if text else ():
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)

    def process_message(self, message: Message) -> None:
        """A line feed is enter: the terminal makes it of an enter that was typed before the console took it."""
        if isinstance(message, Key) and message.key == "ctrl+j":
            message = Key("enter", "\r")
        super().process_message(message)

    def _end_reading(self, reader: Thread) -> None:
        """Unlike `disable_input`, with what was typed and not read yet left to the next reader."""
        os.write(self._tell, b".")
        self.exit_event.set()
        reader.join()
        self.exit_event.clear()
        os.read(self._told, 1)

    def disable_input(self) -> None:
        """End the reading."""
        os.write(self._tell, b".")
        super().disable_input()
        os.read(self._told, 1)
