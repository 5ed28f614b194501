"""Every wish of the user in one table. Key bindings, footer, help, palette and the CLI twin come from it.

Lower case looks, upper case changes the box; `N` (a note for the record and the report) and `space` are the exceptions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal, NamedTuple

from console.state import HostState


class Situation(NamedTuple):
    """What a guard may look at. `table`: the intents with the user's keys, when some are changed; `screen` by name."""

    host: HostState | None
    hosts: int
    read_only: bool
    replayed: bool
    table: tuple[Intent, ...] = ()
    screen: str = ""


Guard = Callable[[Situation], str]


class Intent(NamedTuple):
    """One wish. `guard` gives the sentence why it is refused now, or nothing.

    `command` is the same wish at the command line, with `{host}` for the box; `changes` says that it changes the
    box; `where` that it needs a live box, or a replay; `footer` that the footer shows it; `home` names the screens
    on which it is meant first.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    help: str
    command: str = ""
    changes: bool = False
    where: Literal["both", "live", "replay"] = "both"
    footer: bool = False
    home: tuple[str, ...] = ()
    guard: Guard = lambda _: ""


def _needs_host(situation: Situation) -> str:
    return "" if situation.host else f"No box is open: press {key_of('screen_hosts', situation.table)} and choose one."


def _needs_several(situation: Situation) -> str:
    return "" if situation.hosts > 1 else "Only one box is open: start with `gpudeck A B`."


def _needs_link(situation: Situation) -> str:
    if situation.host is None:
        return _needs_host(situation)
    state, again = situation.host.link.state, key_of("check_again", situation.table)
    return "" if state == "up" else f"The link is {state}: {again} connects again."


INTENTS: tuple[Intent, ...] = (
    Intent("help", ("question_mark", "f1"), "Help", "Every key and what it does here", footer=True),
    Intent("palette", ("colon", "ctrl+p"), "Palette", "Find any action by its name", footer=True),
    Intent("jump", ("ctrl+o",), "Jump", "A letter on every pane and row: type it to go there"),
    Intent("back", ("escape",), "Back", "One step back; never quits"),
    Intent("quit", ("q",), "Quit", "Close the console; work on the box goes on", footer=True),
    Intent("suspend", ("ctrl+z",), "To your shell", "Stop the console as a job of your shell; `fg` brings it back"),
    Intent("screen_hosts", ("0",), "Hosts", "Choose a box", command="gpudeck"),
    Intent(
        "screen_overview",
        ("1",),
        "Overview",
        "Everything at a glance",
        command="gpudeck {host}",
        guard=_needs_host,
    ),
    Intent(
        "screen_host",
        ("2",),
        "Host",
        "GPUs, disks and the machine in full",
        command="gpudeck status {host}",
        guard=_needs_host,
    ),
    Intent(
        "screen_hub",
        ("3",),
        "Hugging Face",
        "Token, repositories, downloads, proofs",
        command="gpudeck models {host} list",
        guard=_needs_host,
    ),
    Intent(
        "screen_plan",
        ("4",),
        "Plan",
        "Every gate of the recipe that was checked last, and the memory per GPU",
        command="gpudeck preflight {host} RECIPE",
        guard=_needs_host,
    ),
    Intent(
        "screen_server",
        ("5",),
        "Server",
        "The server: phases, load, cause and ways out, its log",
        command="gpudeck serve {host} status",
        guard=_needs_host,
    ),
    Intent(
        "screen_bench",
        ("6",),
        "Bench",
        "The measurement in progress, its points and curves",
        command="gpudeck bench {host}",
        guard=_needs_host,
    ),
    Intent(
        "screen_runs", ("7",), "Runs", "Stored runs, each against the one before it", command="gpudeck runs list"
    ),
    Intent(
        "screen_jobs",
        ("8",),
        "Jobs",
        "Long work on the box: it goes on without the console",
        command="gpudeck jobs {host} list",
        guard=_needs_host,
    ),
    Intent("find", ("slash",), "Find", "Find a text in the list or log", home=("hosts", "server", "runs")),
    Intent(
        "filter",
        ("ampersand",),
        "Filter",
        "Show only lines with a text",
        command="gpudeck serve {host} logs --grep TEXT",
    ),
    Intent("zoom", ("z",), "Zoom", "One pane over the whole screen, and back"),
    Intent(
        "check_again", ("r",), "Check again", "Reconnect now, or read everything again", where="live", footer=True,
        guard=_needs_host,
    ),
    Intent(
        "copy",
        ("y",),
        "Copy",
        "Copy the selection; else on screen 5 the line found or the server with its curl; else the row, or the status",
        command="gpudeck status {host}",
        guard=_needs_host,
    ),
    Intent("previous_box", ("left_square_bracket",), "Previous box", "Show the box before", guard=_needs_several),
    Intent("next_box", ("right_square_bracket",), "Next box", "Show the box after", guard=_needs_several),
    Intent(
        "alerts", ("a",), "Alerts", "What is wrong, and was wrong, since when; enter marks it seen", guard=_needs_host
    ),
    Intent(
        "tell",
        ("w",),
        "Tell me when",
        "A notification of the terminal and its bell: a server READY, a download proved, a benchmark done",
        command="gpudeck wait {host} ready",
        where="live",
        guard=_needs_host,
    ),
    Intent(
        "note",
        ("N",),
        "Note",
        "Write a note into the recording and the report of the run being measured, else of the runs around it",
        where="live",
    ),
    Intent(
        "shell",
        ("exclamation_mark",),
        "Shell",
        "Hand the terminal to ssh, and come back",
        command="gpudeck shell {host}",
        changes=True,
        where="live",
        guard=_needs_link,
    ),
    Intent(
        "pause_job",
        ("space",),
        "Pause / resume",
        "Pause the job under the cursor, or let it go on",
        command="gpudeck jobs {host} pause ID",
        changes=True,
        where="live",
        home=("jobs",),
        guard=_needs_link,
    ),
    Intent(
        "token",
        ("T",),
        "Token",
        "Set the Hugging Face token of the box",
        command="gpudeck token {host} set",
        changes=True,
        where="live",
        home=("hub",),
        guard=_needs_link,
    ),
    Intent(
        "verify",
        ("V",),
        "Verify",
        "Prove every stored repository by its hashes",
        command="gpudeck verify {host} REPO",
        changes=True,
        where="live",
        home=("hub",),
        guard=_needs_link,
    ),
    Intent(
        "remove",
        ("R",),
        "Remove",
        "Delete the stored model under the cursor of screen 3, after a question",
        command="gpudeck models {host} rm PATH",
        changes=True,
        where="live",
        home=("hub",),
        guard=_needs_link,
    ),
    Intent(
        "deploy",
        ("D",),
        "Deploy",
        "From a recipe to a server that is proved ready: gates, download, start, smoke test",
        command="gpudeck deploy {host} RECIPE",
        changes=True,
        where="live",
        footer=True,
        guard=_needs_link,
    ),
    Intent(
        "start",
        ("S",),
        "Start",
        "Start a recipe whose repositories are on the box",
        command="gpudeck serve {host} start RECIPE",
        changes=True,
        where="live",
        home=("server",),
        guard=_needs_link,
    ),
    Intent(
        "tunnel",
        ("t",),
        "Tunnel",
        "Open a port of this laptop that leads to the server, or close it",
        where="live",
        home=("server",),
        guard=_needs_link,
    ),
    Intent(
        "stop",
        ("X",),
        "Stop",
        "Stop the server, on screen 8 the job under the cursor, after a question",
        command="gpudeck serve {host} stop",
        changes=True,
        where="live",
        home=("server", "jobs",),
        guard=_needs_link,
    ),
    Intent(
        "adopt",
        ("A",),
        "Adopt",
        "Take a server that somebody else started into our care, after a question",
        command="gpudeck serve {host} adopt",
        changes=True,
        where="live",
        home=("server",),
        guard=_needs_link,
    ),
    Intent(
        "edit",
        ("E",),
        "Edit and retry",
        "Change the flags of the recipe that was started last, and deploy what comes of it",
        command="gpudeck deploy {host} RECIPE",
        changes=True,
        where="live",
        home=("server",),
        guard=_needs_link,
    ),
    Intent(
        "export",
        ("e",),
        "Export",
        "The measured points as CSV, their curve as SVG; on screen 5 the log and the bundle of the server",
        command="gpudeck runs export RUN --format csv --out DIR",
        home=("bench", "runs",),
        guard=_needs_host,
    ),
    Intent(
        "bench",
        ("B",),
        "Run a benchmark",
        "Measure the running server with a preset",
        command="gpudeck bench {host}",
        changes=True,
        where="live",
        home=("bench", "server",),
        guard=_needs_link,
    ),
    Intent("play", ("space",), "Play / pause", "Pause the replay, or play on", where="replay", footer=True),
    Intent("step", ("full_stop",), "Step", "One fact on", where="replay"),
    Intent("back_10", ("left_curly_bracket",), "Back 10 s", "Ten seconds back", where="replay"),
    Intent("on_10", ("right_curly_bracket",), "On 10 s", "Ten seconds on", where="replay"),
    Intent("faster", ("plus",), "Faster", "Twice the speed, up to 8×", where="replay"),
    Intent("slower", ("minus",), "Slower", "Half the speed, down to 0.25×", where="replay"),
    Intent("go_to", ("t",), "Go to time", "Seconds since the start, or HH:MM:SS", where="replay"),
    Intent("notable", ("n",), "Next event", "Play to the next notable event", where="replay", footer=True),
)  # fmt: skip

_PLACES = ("RECIPE", "ID", "PATH", "REPO", "TEXT", "RUN")

BY_ID = {intent.id: intent for intent in INTENTS}

_KEY_NAMES = {"escape": "esc", "slash": "/", "backslash": "\\", "at": "@", "plus": "+", "minus": "-",
              "underscore": "_"}  # fmt: skip


_KEY_NAMED = re.compile(r"(?:(?<=\bscreen )|(?<= \()|(?<!\S)(?=\S on screen\b))([^\s()])(?=[\s),.;:]|$)")


def key_name(key: str) -> str:
    """A key as the user knows it."""
    if key in _KEY_NAMES or len(key) == 1:
        return _KEY_NAMES.get(key, key)
    try:
        sign = unicodedata.lookup(key.replace("_", " ").upper())
    except KeyError:
        return key
    return sign if sign.isprintable() and not sign.isspace() else key


def key_of(intent_id: str, table: tuple[Intent, ...]) -> str:
    """The first key of an intent, as the user knows it and, with `table`, has it."""
    return key_name(next(one.keys[0] for one in table or INTENTS if one.id == intent_id))


def spoken(text: str, table: tuple[Intent, ...]) -> str:
    """A text that names keys as they come, `(r)`, `T on screen` or `screen 5`, with the keys that the user has.

    Facts and help say keys so, because what is recorded and printed is read by people with other keys, too.
    """
    if not table or table is INTENTS:
        return text
    return _KEY_NAMED.sub(lambda found: _key_now(found[1], table), text)


def _key_now(key: str, table: tuple[Intent, ...]) -> str:
    meant = next((one.id for one in INTENTS if one.where != "replay" and key in map(key_name, one.keys)), "")
    return key_of(meant, table) if meant else key


def available(situation: Situation) -> tuple[Intent, ...]:
    """The intents of this session: read-only mode takes away what changes the box, a replay what needs one."""
    return tuple(
        intent
        for intent in situation.table or INTENTS
        if not (intent.changes and situation.read_only) and intent.where != ("live" if situation.replayed else "replay")
    )


def meant(intent: Intent, situation: Situation) -> Intent:
    """The intent of the same key that this session has: a key may mean one thing live, and another in a replay."""
    having = available(situation)
    return next((one for one in (intent, *having) if one in having and set(one.keys) & set(intent.keys)), intent)


def refusal(intent: Intent, situation: Situation) -> str:
    """Why the wish cannot be granted now, in a sentence; empty when it can."""
    if intent.where == "replay" and not situation.replayed:
        return "Only a replay can be played."
    if intent.where == "live" and situation.replayed:
        return "This is a replay: nothing can be changed or asked."
    if intent.changes and situation.read_only:
        return "The session is read-only."
    return intent.guard(situation)


def twin(intent: Intent, host: str, argument: str = "") -> str:
    """The command line that does the same; the argument stands where the table names one, else behind."""
    command = intent.command.format(host=host)
    if not argument:
        return command
    words = [argument if word in _PLACES else word for word in command.split()]
    return " ".join(words if argument in words else [*words, argument])
