"""What screens and headless reports need of a session, live or replayed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from console.events import Event
from console.events.jobs import JobAction
from console.journal import Header
from console.state import State
from console.values import CleanText
from console.values.secrets import Secret


class HostChoice(Protocol):
    """A row of the host picker: what `open` takes, where it comes from, how it is reached."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def way(self) -> str: ...


class Controls(Protocol):
    """What only a live session can do. A replay has none, so it cannot touch a box."""

    def start(self) -> None:
        """Begin to connect; the screen calls it after its first paint."""
        ...

    def publish(self, event: Event) -> None: ...

    def note(self, text: CleanText, host: str) -> str:
        """Keep a note with the recording and the runs that it is about. Why it is kept nowhere, or nothing."""
        ...

    def again(self, host: str) -> None:
        """Connect to this box again now."""
        ...

    def choices(self) -> AsyncIterator[Sequence[HostChoice]]:
        """The boxes that can be opened, and again whenever more is known of the way to one."""
        ...

    def open_host(self, name: str) -> None:
        """Open a further box."""
        ...

    def change_job(self, host: str, action: JobAction, job_id: str) -> str:
        """Ask the box to stop, pause or resume a job. Why it cannot be asked, or nothing."""
        ...

    def recipe_names(self) -> Sequence[str]:
        """The recipes in reach of this directory."""
        ...

    def recipe_problem(self) -> str:
        """What is wrong with the recipes' files, with file and line, or nothing."""
        ...

    def check_recipe(self, host: str, recipe: str, accept: tuple[str, ...] = ()) -> str:
        """Ask every gate of a recipe; the answers come as facts. Why it cannot be asked, or nothing."""
        ...

    def deploy(self, host: str, recipe: str, *, fetch: bool, accept: tuple[str, ...] = ()) -> str:
        """Bring a recipe up, with `fetch` downloading what is missing. Why it cannot begin, or nothing."""
        ...

    def recipe_args(self, recipe: str) -> str:
        """The flags of a recipe as TOML, empty when there is no such recipe any more."""
        ...

    def edit_recipe(self, host: str, recipe: str, args: str) -> tuple[str, str]:
        """Derive a recipe with other flags for this session: (its name, why not); one of them is empty.

        Flags are looked up in what `host` said of its SGLang last.
        """
        ...

    def read_older_log(self, host: str, server: str, *, fresh: bool) -> None:
        """Read back older lines of a server's log from the box's file; `fresh`: from the lines in memory on."""
        ...

    def toggle_tunnel(self, host: str, box_port: int) -> None:
        """Open a tunnel to a port of the box, or close the one that is open."""
        ...

    def stop_server(self, host: str, server: str) -> str:
        """Stop a server: parent first, grace, rest, proof. Why it cannot be asked, or nothing."""
        ...

    def adopt_server(self, host: str, server: str) -> str:
        """Take a server of somebody else into our care. Why it cannot be asked, or nothing."""
        ...

    async def set_token(self, host: str, token: Secret) -> str:
        """Write the box's Hugging Face token; what came of it, in a sentence."""
        ...

    async def ask_hub(self, host: str) -> str:
        """Ask again for token, access and what is stored. Why it could not be asked, or nothing."""
        ...

    async def verify_stored(self, host: str) -> str:
        """Verify every stored repository; what was started, in a sentence."""
        ...

    async def remove_stored(self, host: str, path: str) -> str:
        """Delete a stored model unless it is in use; what came of it, in a sentence."""
        ...

    def watch_runs(self) -> None:
        """List the stored runs as facts from now on, and again whenever they change."""
        ...

    def bench(self, host: str, server: str, preset: str, concurrency: tuple[int, ...] = ()) -> str:
        """Measure a server with a preset, at these concurrencies or its own. Why it cannot begin, or nothing."""
        ...

    def accept_host_key(self, host: str) -> None:
        """Trust the host key that the box showed last, and connect again."""
        ...

    def shell_command(self, host: str) -> Sequence[str]:
        """The arguments of an interactive shell on the box."""
        ...


class Session(Protocol):
    """`state` is what is true; `now()` is the session's clock in seconds since `header.started`."""

    state: State
    header: Header

    @property
    def controls(self) -> Controls | None: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def recording(self) -> str:
        """The name of the file that is recorded to, or empty."""
        ...

    @property
    def demo(self) -> bool:
        """True when the box is the demo box: said in the header and in exports, and nowhere else."""
        ...

    def now(self) -> float: ...
