"""Keys of screen 8: pause or resume, and stop, the job under the cursor."""

from __future__ import annotations

from collections.abc import Mapping

from console.events.jobs import Job, JobAction
from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.jobs import JobsScreen
from console.values import known
from console.views.hub_transfers import drains, thrown_away
from console.views.jobs import find_job, may_live
from widgets.dialog import ConfirmDialog


def _chosen(deck: Deck, frame: Frame) -> Job | None:
    """The job that is meant, if it still does something; else why not is said."""
    screen = deck.screen
    chosen = frame.argument or (screen.chosen if isinstance(screen, JobsScreen) else "")
    job = find_job(frame.host, chosen) if chosen and frame.host else None
    if job is None:
        listed = bool(frame.host and known(frame.host.jobs.jobs) and frame.host.jobs.jobs)
        missing = f"There is no job {chosen} on this box." if chosen else "There is no job on this box."
        deck.notify("Choose a job on screen 8." if listed and not chosen else missing, severity="warning")
    elif not may_live(job):
        deck.notify(f"{job.id} has ended.", severity="warning")
        return None
    return job


_DONE = {"stop": "stopped", "pause": "paused", "resume": "resumed"}


def _change(deck: Deck, host: str, action: JobAction, asked: Job) -> None:
    """What was shown and confirmed, unless it is over or otherwise by now."""
    job, controls = find_job(deck.session.state.hosts[host], asked.id), deck.session.controls
    if job is None or not may_live(job):
        refused = f"{asked.id} has ended meanwhile."
    elif action != "stop" and job.paused != asked.paused:
        refused = f"{asked.id} {'is paused' if job.paused else 'goes on'} already."
    else:
        refused = controls.change_job(host, action, job.id) if controls else ""
    if refused:
        deck.notify(f"{refused} Nothing was {_DONE[action]}.", severity="warning")


def _pause(deck: Deck, frame: Frame) -> None:
    job, controls, host = _chosen(deck, frame), deck.session.controls, frame.host
    if job is None or controls is None or host is None:
        return
    name = host.name
    action: JobAction = "resume" if job.paused else "pause"

    def answered(yes: bool | None) -> None:
        if yes:
            _change(deck, name, action, job)

    rows = [("box", name), (f"{action}s", f"{job.kind} of {job.key}"), ("job", job.id), ("started by", job.by)]
    if not job.paused and (drained := drains(host, job.id)):
        rows.append(("finishes", drained))
    twin = f"gpudeck jobs {name} {action} {job.id}"
    deck.push_screen(ConfirmDialog(f"{action.capitalize()} a job", rows, yes=action.capitalize(), twin=twin), answered)


def stop(deck: Deck, frame: Frame) -> None:
    job, controls, host = _chosen(deck, frame), deck.session.controls, frame.host
    if job is None or controls is None or host is None:
        return
    name = host.name

    def answered(yes: bool | None) -> None:
        if yes:
            _change(deck, name, "stop", job)

    rows = [("box", name), ("stops", f"{job.kind} of {job.key}"), ("pid", str(job.pid)), ("started by", job.by)]
    if lost := thrown_away(host, job.id):
        rows.append(("throws away", lost))
    rows.append(("grace", f"{job.grace_s:g} s, then what is left is killed"))
    twin = f"gpudeck jobs {name} stop {job.id}"
    deck.push_screen(ConfirmDialog("Stop a job", rows, yes="Stop", twin=twin), answered)


HANDLERS: Mapping[str, Handler] = {"pause_job": _pause}
