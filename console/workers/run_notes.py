"""Keeps what is noted in a session with the runs that it is about, for their reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from console.bench.store import Note, RunError, RunStore
from console.events import Event
from console.events.bench import RunBegan
from console.events.link import NoteWritten
from console.state import HostState


class RunNotes:
    """While a box measures, a note goes to what is measured; in between to the run before and to the next one: what
    was seen of the one and what was changed for the other is written at the same time."""

    def __init__(self, runs: Path) -> None:
        self._store = RunStore(runs)
        self._waiting: defaultdict[str, list[Note]] = defaultdict(list)
        self.failed = ""  # why the note that was heard last could not be kept with its run

    def hear(self, event: Event, hosts: Iterable[HostState], t: str) -> None:
        """A fact of the moment `t` (UTC), already in the state of these boxes."""
        if isinstance(event, NoteWritten):
            self.failed = ""
            for host in hosts:
                if event.host in ("", host.name):
                    self._note(host, Note(t, event.text))
        elif isinstance(event, RunBegan):
            for note in self._waiting.pop(event.host, []):
                self._keep(event.run, note)

    def _note(self, host: HostState, note: Note) -> None:
        runs = list(host.bench.runs.values())
        measured = [run for run in runs if run.ended is None]
        if not measured:
            self._waiting[host.name].append(note)
        for run in measured or runs[-1:]:
            self._keep(run.began.run, note)

    def _keep(self, run: str, note: Note) -> None:
        try:
            self._store.add_note(run, note)
        except (RunError, OSError) as error:  # the recording has it, unless that stopped, too
            self.failed = f"{run}: {getattr(error, 'strerror', None) or error}"
