"""What the commands about the Hub share: the repository that is meant, the box that is asked, how a job ends."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from console.cli.flags import Flags
from console.cli.follow import asking
from console.cli.output import say
from console.cli.stop import DONE, FAILED, GATE, MISMATCH, USAGE, StopError
from console.config.records import HostConfig
from console.events.hub import DownloadFellShort, DownloadProgressed, RepoVerified
from console.gates.access import ACCESS_STATES, repo_id_problem
from console.gates.gate import Gate
from console.gates.plan import exit_code
from console.models.places import last_name
from console.session.live import LiveSession
from console.views.hub_transfers import download_sentence, fell_short_sentence
from console.workers.hub import HubError, Want
from console.workers.hub_facts import progress_fact

SAY_EVERY_S = 5.0


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which files of which repository, and where they lie."""
    for option in reversed(
        (
            click.option("--revision", metavar="R", help="Branch, tag or commit."),
            click.option("--dir", "parent", metavar="PARENT", help="The repository lies in PARENT/<name>."),
            click.option("--path", metavar="P", help="The repository lies exactly at P."),
            click.option("--include", multiple=True, metavar="G", help="Only files that match (repeatable)."),
            click.option("--exclude", multiple=True, metavar="G", help="No files that match (repeatable)."),
        )
    ):
        command = option(command)
    return command


def want_of(host: HostConfig, repo: str, given: dict[str, Any], revision: str) -> Want:
    """The repository and its place on the box; usage errors for what cannot be one."""
    if problem := repo_id_problem(repo):
        raise StopError(USAGE, problem)
    if any(char.isspace() or not char.isprintable() for char in revision):
        raise StopError(USAGE, f"{revision!r} is no revision: a branch, a tag or a commit holds no spaces.")
    if given["path"] and given["parent"]:
        raise StopError(USAGE, "--dir and --path exclude each other.")
    parent = given["parent"] or host.dir or ""
    if not given["path"] and not parent:
        raise StopError(USAGE, f"Where on {host.name}? Say --dir or --path, or set hosts.{host.name}.dir.")
    path: str = given["path"] or f"{parent.rstrip('/')}/{last_name(repo)}"
    if not path.startswith(("/", "~/")) or "\0" in path:
        raise StopError(USAGE, f"{path!r} must be an absolute path of the box.")
    return Want(
        repo=repo, revision=revision, path=path, include=tuple(given["include"]), exclude=tuple(given["exclude"])
    )


def changing(session: LiveSession, host: str, what: str) -> None:
    """Refuses what a read-only session must not do."""
    if session.read_only:
        raise StopError(GATE, f"{host} is opened read-only: {what}.")


def confirmed(question: str, yes: bool) -> None:
    """`--yes`, or a yes at the terminal; without one the command ends."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise StopError(USAGE, f"{question} Say --yes.")
    if not click.confirm(question, default=False, err=True):
        raise StopError(FAILED, "Nothing was changed.")


@contextlib.contextmanager
def hub_answers() -> Iterator[None]:
    """What the helper or the box cannot do ends the command with its sentence."""
    try:
        with asking():
            yield
    except HubError as error:
        raise StopError(FAILED, str(error)) from error


def show_gates(flags: Flags, gates: Sequence[Gate]) -> None:
    """Each gate's sentence and ways out, as narration."""
    for gate in gates:
        say(flags, f"{gate.verdict}  {gate.name}  {gate.sentence}")
        for way in gate.way_out if gate.verdict != "pass" else ():
            say(flags, f"      → {way}")


class Teller:
    """Takes a job's progress lines and narrates now and then; the session's own watcher makes them facts."""

    def __init__(self, flags: Flags, host: str, want: Want, job: str) -> None:
        self._flags, self._host, self._want, self._job = flags, host, want, job
        self._said: tuple[float, str] = (0.0, "")
        self.end: DownloadFellShort | RepoVerified | None = None

    def __call__(self, line: dict[str, Any]) -> None:
        fact = progress_fact(self._host, self._job, self._want.repo, self._want.path or "", line)
        if fact is None:
            return
        if isinstance(fact, DownloadFellShort | RepoVerified):
            self.end = fact
        elif isinstance(fact, DownloadProgressed):
            when, phase = self._said
            if fact.phase != phase or line["t"] - when >= SAY_EVERY_S:
                self._said = (line["t"], fact.phase)
                say(self._flags, download_sentence(fact))


def ending(end: DownloadFellShort | RepoVerified | None, job: str) -> int:
    """The exit code of a job's last word; raises StopError when it is a failure with a sentence."""
    if end is None:
        raise StopError(FAILED, f"The job {job} ended without its last word; its log says more.")
    if isinstance(end, DownloadFellShort):
        raise StopError(fell_short_code(end.state), fell_short_sentence(end))
    return DONE if end.result == "ok" else MISMATCH


def fell_short_code(state: str) -> int:
    """An access state has its own exit code; what happened on the box is 1."""
    if state in ("sizes_unknown", "unknown"):
        return GATE
    if state not in ACCESS_STATES:
        return FAILED
    return exit_code(Gate(name="access", verdict="block", state=state, subject="", sentence=""))
