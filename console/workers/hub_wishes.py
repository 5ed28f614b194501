"""What a person asks of the Hub's side from the screen: each answers with one sentence, the rest comes as facts."""

from __future__ import annotations

from collections.abc import Sequence

from console.remote.errors import RemoteError
from console.state import HostState
from console.values import format_gb, known
from console.values.secrets import Secret
from console.workers import jobs
from console.workers.box import Box
from console.workers.hub import HubError, Want, look, place_of, remove_model, set_token
from console.workers.hub_jobs import Transfer, spec_of
from console.workers.hub_watch import first_look

AGAIN = "copy it whole from the Hub's settings, and T on screen takes it"


async def put_token(box: Box, token: Secret) -> str:
    """Puts a token into the library's place on the box, unless the Hub rejects it."""
    try:
        done = await set_token(box, place_of(box), token.reveal())
    except (HubError, RemoteError) as error:
        return f"Nothing is known of the token: {error}"
    if done.shape:
        return f"Nothing was written: what was given is no token ({done.shape.replace('_', ' ')}); {AGAIN}."
    if not done.written or done.given is None:
        return f"Nothing was written: the Hub rejects this token; {AGAIN}."
    beaten = done.used is not None and done.used.source.startswith("env:")
    whose = done.given.who if known(done.given.who) else "its owner (not proved)"
    return f"The token of {whose} was written" + ("; HF_TOKEN of the box beats it." if beaten else ".")


async def ask_again(box: Box, host: HostState) -> str:
    """Token, stored models, and every repository that was asked for before. Empty, or why it could not be asked."""
    wants = [_want(host, repo_id) for repo_id in host.hub.repos]
    try:
        await first_look(box)
        if wants:
            await look(box, place_of(box), wants)
    except (HubError, RemoteError) as error:
        return str(error)
    return ""


def _want(host: HostState, repo_id: str) -> Want:
    repo = next(repo for repo in host.hub.repos.values() if repo.id == repo_id)
    path = str(repo.stored.path) if repo.stored else None
    revision = str(repo.access.revision) if repo.access and repo.access.revision else "main"
    return Want(repo=repo_id, revision=revision, path=path)


async def verify_all(box: Box, host: HostState) -> str:
    """Starts a verification of every repository on the box that has a manifest: one job each."""
    started: list[str] = []
    for repo_id, path in _provable(host):
        want = Want(repo=repo_id, revision="", path=path)
        try:
            await jobs.start(box, spec_of("verify", place_of(box), Transfer(want=want)))
        except jobs.JobRefusedError:
            pass  # it runs already, and is followed
        except (jobs.JobError, RemoteError) as error:
            return f"{repo_id}: {error}"
        started.append(repo_id)
    return f"Verifying {', '.join(started)}." if started else "Nothing on the box has a manifest to verify against."


async def remove_stored(box: Box, path: str) -> str:
    """Deletes a stored model unless it is in use."""
    try:
        done = await remove_model(box, place_of(box), path)
        if done.why == "missing":
            await first_look(box)  # what is listed is no more
    except (HubError, RemoteError) as error:
        return f"Whether {path} was deleted is not known: {error}"
    if done.why:
        return f"{done.path} was not deleted: {done.refused}."
    return f"{done.path} was deleted: {format_gb(done.size_bytes)}."


def _provable(host: HostState) -> Sequence[tuple[str, str]]:
    models = list(host.hub.inventory) if known(host.hub.inventory) else []
    models += [repo.stored for repo in host.hub.repos.values() if repo.stored]
    found = {str(m.path): str(m.repo) for m in models if m.exists and known(m.repo) and known(m.files)}
    return [(repo, path) for path, repo in found.items()]
