"""The scenes by name, in the order of the story, and how they are played."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from console.demo.story import bench_scenes, box_scenes, hub_scenes
from console.demo.story.stage import MissedError, Stage
from console.remote.errors import RemoteError
from console.workers.hub import HubError
from console.workers.jobs import JobError, JobRefusedError

STORY = "tour"


class Scene(NamedTuple):
    """One mistake of that night: what was done, and the scene, which gives the sentence of what prevented it."""

    mistake: str
    play: Callable[[Stage], Awaitable[str]]


SCENES: dict[str, Scene] = {
    "quoting": Scene("A script was broken by three layers of shell quoting.", box_scenes.quoting),
    "unknown-size": Scene("The Hub said size=None, the script printed 0.0 GB.", hub_scenes.unknown_size),
    "gated": Scene("A gated repository was found out after an hour.", hub_scenes.gated),
    "empty-token": Scene("`cat token | head && echo exists` proved an empty token file.", hub_scenes.empty_token),
    "disk-full": Scene("“595 GB, 593 G free: fits”, two rounded texts in two units.", hub_scenes.disk_full),
    "silent-download": Scene("A download printed its help, ended with 0, fetched nothing.", hub_scenes.silent_download),
    "nested-config": Scene("num_hidden_layers was None: the config nests text_config.", box_scenes.nested_config),
    "incomparable": Scene("Numbers of different measurements were kept in a chat.", bench_scenes.incomparable),
    "capped-concurrency": Scene(
        "Speculative runs were capped at 48 requests, unnoticed.", bench_scenes.capped_concurrency
    ),
    "accept-length": Scene("The accept length was never written down.", bench_scenes.accept_length),
    "lost-gpu": Scene("A GPU fell off the bus, and the server was started over all eight.", box_scenes.lost_gpu),
    "oom": Scene("The weights were loaded for half an hour, then the memory was out.", box_scenes.oom),
    "truncated-shard": Scene(
        "A shard was shorter than it should be; the server met it first.", hub_scenes.truncated_shard
    ),
    "foreign-process": Scene("Somebody else's training held one of the GPUs.", box_scenes.foreign_process),
    "link-cut": Scene("The laptop lost its network, and the download was lost with it.", hub_scenes.link_cut),
}


class Played(NamedTuple):
    """How it went: `prevented` holds the `seq` of the facts that prevented the mistakes."""

    ok: bool
    prevented: tuple[int, ...]


async def play(stage: Stage, name: str) -> Played:
    """One scene, or the whole story; every scene begins in a world that is in order."""
    names: Sequence[str] = tuple(SCENES) if name == STORY else (name,)
    ok = True
    for number, one in enumerate(names, 1):
        scene = SCENES[one]
        stage.forget()
        try:
            await stage.say(f"{number}/{len(names)} {one}: {scene.mistake}")
            await stage.say(f"Prevented. {await scene.play(stage)}")
        except (MissedError, RemoteError, HubError, JobError, JobRefusedError) as error:
            ok = False
            await stage.say(f"NOT prevented: {error}.")
        finally:
            stage.world.heal()
    return Played(ok, tuple(stage.prevented))
