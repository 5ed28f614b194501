"""From the words of a command line to a live session."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

from console.cli.asking import terminal_asker
from console.cli.flags import Flags
from console.cli.recording import recording_file
from console.cli.stop import CONNECTION, INTERRUPTED, TIMED_OUT, USAGE, StopError
from console.cli.unheard import listen_to_loop
from console.config import Config, ConfigError, HostConfig, load_config
from console.config.aliases import ssh_aliases
from console.events import Stamped
from console.remote.asker import Asker
from console.session.live import LiveSession
from console.session.picker import DEMO, LOCAL
from console.session.ways import Ways
from console.state import State
from console.values.secrets import redact

T = TypeVar("T")


def configuration(flags: Flags) -> Config:
    """Settings and hosts, with the flags on top."""
    given = {
        "read_only": flags.read_only or None,
        "ascii": flags.ascii or None,
        "no_color": flags.no_color or None,
        "record": False if flags.no_record else None,
        "timeout": flags.timeout,
        "ssh_config": str(flags.ssh_config) if flags.ssh_config else None,
    }
    try:
        config = load_config(cwd=Path.cwd(), env=os.environ, config_file=flags.config, flags=given)
        _check_keys(config)
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error
    return config


def _check_keys(config: Config) -> None:
    """Raises ConfigError at the place of the first key that cannot be."""
    if config.keys:
        from console.keymap import problem

        if found := problem(config.keys):
            action, sentence = found
            origin = config.origins[f"keys.{action}"]
            raise ConfigError(origin.file, origin.line, sentence)


def host_named(config: Config, name: str, commands: Iterable[str] = ()) -> HostConfig:
    """The box of a name; a single word that names nothing is a usage error with the nearest name. `commands`: what
    the word could have meant as well."""
    if name in config.hosts or name in (DEMO, LOCAL) or any(mark in name for mark in "@.:"):
        return config.host(name)
    ssh_config = Path(config.settings.ssh_config) if config.settings.ssh_config else None
    aliases = ssh_aliases(ssh_config)
    if name not in aliases and not _changed_by_ssh(name, ssh_config):
        near = get_close_matches(name, [*commands, *config.hosts, *aliases, DEMO, LOCAL], n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else "`gpudeck --help` shows how to name one."
        no = "no command, no SSH alias" if commands else "no SSH alias"
        raise StopError(USAGE, f"{name!r} is {no} and no configured host; {hint}")
    return config.host(name)


def _changed_by_ssh(name: str, ssh_config: Path | None) -> bool:
    """True when `ssh -G` makes another host name of it: a pattern of the SSH configuration knows the name."""
    from console.remote.errors import SshConfigError
    from console.remote.ssh_config import resolve

    try:
        return resolve(name, ssh_config)[-1].host.lower() != name.lower()
    except SshConfigError:
        return False


@contextlib.asynccontextmanager
async def live(
    flags: Flags, hosts: Sequence[HostConfig], config: Config, record: Path | None, asker: Asker | None = None
) -> AsyncIterator[LiveSession]:
    """A session with these boxes; nothing connects before `start`."""
    async with contextlib.AsyncExitStack() as resources:
        ways = Ways(config, asker, flags.expect_fingerprint, resources)
        read_only = config.settings.read_only or (bool(hosts) and all(host.read_only for host in hosts))
        session = LiveSession(ways, read_only=read_only, demo=[host.name for host in hosts] == [DEMO])
        for host in hosts:
            session.add(host)
        if record is not None:
            check_new_file(record)
            session.record_to(record)
        async with session:
            yield session


def check_new_file(record: Path) -> None:
    """A recording goes to a new file in a directory that can be written."""
    if record.exists():
        raise StopError(USAGE, f"{record} exists already; --record never writes over a file.")
    if not os.access(record.parent, os.W_OK):
        raise StopError(USAGE, f"{record} cannot be recorded to: {record.parent} is no directory one can write.")


@contextlib.asynccontextmanager
async def connected(flags: Flags, name: str, *, follows: bool = False) -> AsyncIterator[LiveSession]:
    """A command's session with one box whose link is up. Recorded only with `--record`, unless it follows a job."""
    config = configuration(flags)
    host = host_named(config, name)
    record = recording_file(flags, [name], config) if follows else flags.record
    async with live(flags, [host], config, record, terminal_asker()) as session:
        if flags.verbose:
            session.bus.listen(_narrate)
        session.start()
        await reach(session, name, config.settings.timeout)
        yield session


def _narrate(stamped: Stamped) -> None:
    """`-v`: every fact as it is told, on standard error."""
    event = stamped.event
    words = " ".join(str(getattr(event, name)) for name in ("state", "sentence", "reason") if hasattr(event, name))
    click.echo(redact(f"{stamped.t:9.3f}  {type(event).__name__}  {words}".rstrip()), err=True)


async def reach(session: LiveSession, name: str, timeout_s: float | None) -> None:
    """Wait until the link is up; a link that fails ends the command with the link's own sentence."""

    def decided(state: State) -> bool:
        link = state.hosts[name].link
        return link.state == "up" or (link.state in ("lost", "blocked") and link.sentence != "")

    if not await session.wait(decided, timeout_s):
        raise StopError(TIMED_OUT, f"{name} did not answer within {timeout_s:g} s.")
    link = session.state.hosts[name].link
    if link.state != "up":
        raise StopError(link.exit_code or CONNECTION, link.sentence)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine; ctrl+c becomes exit 130 after its cleanup."""
    try:
        with asyncio.Runner() as runner:
            listen_to_loop(runner.get_loop())
            return runner.run(work)
    except KeyboardInterrupt as error:
        raise StopError(INTERRUPTED, "Interrupted.") from error
