"""Gates of repositories that the Hub did not list: what a directory of the box needs, and what stays unknown."""

from __future__ import annotations

from collections.abc import Sequence

from console.config.accepted import read_accepted
from console.config.records import Recipe
from console.events.hub import CodeFile
from console.gates.gate import Gate
from console.gates.remote_code import remote_code_gate
from console.remote.errors import AgentError
from console.values import Unknown, clean, known
from console.workers.box import Box
from console.workers.engine import QUICK_S, ask
from console.workers.hub import Looked
from console.workers.repository import read_config


async def directory_gates(box: Box, recipe: Recipe, looks: Sequence[Looked], on_box: frozenset[str]) -> list[Gate]:
    """Remote code and disk of every repository without a manifest. `on_box`: those of which nothing is missing."""
    gates = []
    trusted = recipe.args.get("trust-remote-code") is True
    for looked in looks:
        if looked.manifest is None:
            gates.append(await _code(box, looked, trusted))
            gates.append(_disk(looked, here=looked.want.is_local or looked.want.repo in on_box))
    return gates


async def _code(box: Box, looked: Looked, trusted: bool) -> Gate:
    place = looked.want.repo if looked.want.is_local else looked.want.path
    config = await read_config(box, place) if place else None
    if config is None or not known(config):
        return _unlisted("remote_code", looked, "Whether it brings code of its own")
    needed = config.code_files
    files = await _files(box, str(place)) if needed else ()
    commit = looked.stored.commit if looked.stored else Unknown("not stored")
    return remote_code_gate(
        looked.want.repo, str(commit) if known(commit) else "", files, needed, trusted, read_accepted()
    )


async def _files(box: Box, place: str) -> tuple[CodeFile, ...]:
    """The Python files; none when they could not be read, so that nothing unseen is accepted for good."""
    try:
        answer = await ask(box, "python3", {"op": "code", "path": place}, QUICK_S)
    except AgentError:
        return ()
    return tuple(
        CodeFile(path=clean(str(path)), sha256=clean(sha) if isinstance(sha, str) else Unknown("it could not be read"))
        for path, sha in answer.get("files", ())
    )


def _disk(looked: Looked, *, here: bool) -> Gate:
    if not here:
        return _unlisted("disk", looked, "How much it needs")
    where = "a path of the box" if looked.want.is_local else "on the box"
    sentence = f"{looked.want.repo} is {where}: nothing is downloaded."
    return Gate(name="disk", verdict="pass", state="done", subject=looked.want.repo, sentence=sentence)


def _unlisted(name: str, looked: Looked, what: str) -> Gate:
    repo, why = looked.want.repo, looked.access.access.replace("_", " ")
    return Gate(
        name="disk" if name == "disk" else "remote_code",
        verdict="unknown",
        state="unknown",
        subject=repo,
        sentence=f"{what} is not known of {repo}: {why}.",
        way_out=("see the access gate",),
    )
