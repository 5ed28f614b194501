"""What people type, for the head of each command's help."""

from __future__ import annotations

from collections.abc import Sequence

# Command -> (command line, what it is for).
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "open": (("gpudeck ct200", "the console on this box"), ("gpudeck", "choose a box first")),
    "demo": (
        ("gpudeck demo", "a box to try everything on"),
        ("gpudeck demo --headless --scenario gated", "one mistake met, and what prevented it"),
    ),
    "replay": (
        ("gpudeck --replay night.jsonl", "look at a night again"),
        ("gpudeck --replay night.jsonl --headless --json --until 04:12:00", "its state at a moment, as data"),
    ),
    "status": (
        ("gpudeck status ct200", "everything true of it, in a screen of text"),
        ("gpudeck status ct200 --watch --json", "one object a change, for scripts"),
    ),
    "token": (
        ("gpudeck token ct200 status", "proved by a call from the box"),
        ("gpudeck token ct200 set < token.txt", "never an argument"),
    ),
    "models": (
        ("gpudeck models ct200 list", "by device, with size, proof, and who has them open"),
        ("gpudeck models ct200 rm /data/models/old --dry-run", "what would be deleted"),
    ),
    "download": (
        ("gpudeck download ct200 moonshotai/Kimi-K2.6 --dir /data/models", "and prove every byte"),
        ("gpudeck download ct200 org/name --detach", "leave it to the box"),
    ),
    "verify": (("gpudeck verify ct200 moonshotai/Kimi-K2.6", "every hash against the revision's manifest"),),
    "deploy": (
        ("gpudeck deploy ct200 k26-tp8 --dry-run", "every gate, the command line, and no change"),
        ("gpudeck deploy ct200 k26-tp8", "gates, download, start, smoke test; again to resume"),
    ),
    "serve": (
        ("gpudeck serve ct200 start k26-tp8", "repositories are on the box already"),
        ("gpudeck serve ct200 logs --follow --grep error", "its log"),
        ("gpudeck serve ct200 stop", "the one that runs: parent, grace, rest, proof"),
    ),
    "preflight": (
        ("gpudeck preflight ct200 k26-tp8", "every gate with its arithmetic"),
        ("gpudeck preflight ct200 --model org/name --json", "without a recipe, as data"),
    ),
    "exec": (("gpudeck exec ct200 probe.py -- a 'b c'", "arguments travel as data"),),
    "shell": (("gpudeck shell ct200", "what `ssh ct200` gives"),),
    "recipe": (
        ("gpudeck recipe list", "what is in reach"),
        ("gpudeck recipe show k26-tp8 --origin", "all of it, and where each value comes from"),
        ("gpudeck recipe check sweep.toml", "before a box is asked"),
        ("gpudeck recipe new org/name --like k26-tp8", "begin from one that works"),
    ),
    "wait": (("gpudeck wait ct200 ready --timeout 1800", "0, 1, or 124 when the time is over"),),
    "bench": (
        ("gpudeck bench ct200 --preset smoke", "a first look"),
        ("gpudeck bench ct200 --concurrency 1,8,64 --repeats 3", "points of your own"),
    ),
    "sweep": (
        ("gpudeck sweep ct200 sweep.toml --dry-run", "what would be measured, and how long it takes"),
        ("gpudeck sweep ct200 sweep.toml", "again to resume"),
    ),
    "runs": (
        ("gpudeck runs list k26", "stored runs with this word, newest first"),
        ("gpudeck runs show last", "or a recipe, or the beginning of an id: its points, its flags with their causes"),
        ("gpudeck runs compare A B --fail-if 'tok_s<-5%,ttft_p95>+10%'", "exit 8 when it got slower"),
        ("gpudeck runs export RUN --format html --out report", "for somebody without gpudeck"),
        ("gpudeck runs import bench.jsonl --recipe k26-tp8", "a result of another tool beside your own"),
        ("gpudeck runs note RUN 'before the driver update' --mark baseline", "what a number was for"),
    ),
    "jobs": (
        ("gpudeck jobs ct200 list", "what runs on the box without us"),
        ("gpudeck jobs ct200 stop ID", "grace first"),
    ),
    "doctor": (
        ("gpudeck doctor ct200", "each check with one way out"),
        ("gpudeck doctor ct200 --bundle report.zip", "redacted, for a bug report"),
    ),
    "config": (
        ("gpudeck config show --origin", "what counts, and where it comes from"),
        ("gpudeck config init", "a first file"),
    ),
    "completion": (("gpudeck completion bash >> ~/.bashrc", "or zsh, or fish"),),
}


def examples(command: str, words: Sequence[str] = ()) -> str:
    """The examples of a command as they stand above its help; those of its subcommand when `words` name one."""
    own = [line for line in EXAMPLES[command] if line[0].split()[2:3] in ([word] for word in words)]
    lines = own or EXAMPLES[command]
    width = max(len(line) for line, _ in lines)
    return "\n".join(["Examples:", *(f"  {line:<{width}}  {what}" for line, what in lines), ""])
