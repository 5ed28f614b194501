"""What `doctor` finds out about a box."""

from __future__ import annotations

from typing import Literal

from console.events.base import HostEvent
from console.values import CleanText, Unknown


class BoxExamined(HostEvent, frozen=True, gc=False, kw_only=True):
    """The system as the configured interpreter sees it. `python_error`: why that one could not be started, so that
    `python3` answered instead. `locale` is the variable in force, `encoding` what came of it. `systemd`: how far a
    job can live on as a unit of the user's own. `state_dir_error`: why jobs cannot keep their folders there.
    """

    python: CleanText
    python_version: CleanText
    python_error: CleanText = CleanText("")
    packages: dict[CleanText, CleanText | Unknown]
    shell: CleanText
    encoding: CleanText
    locale: CleanText
    systemd: Literal["none", "system", "user", "lingering"]
    state_dir: CleanText
    state_dir_error: CleanText
    open_files: int
    container: CleanText


EVENTS = (BoxExamined,)
