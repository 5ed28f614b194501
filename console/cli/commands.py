"""The table of commands."""

from __future__ import annotations

# Command -> module of console.cli that holds it as `command`, and its one-line help. Nothing is imported
# before it is called.
COMMANDS: dict[str, tuple[str, str]] = {
    "open": ("open", "Open the console (also `gpudeck [HOST ...]`)."),
    "demo": ("demo", "A demo box on this machine; the real path otherwise."),
    "replay": ("replay", "Replay a recording (also `gpudeck --replay FILE`)."),
    "status": ("status", "Everything true of a box."),
    "token": ("token", "The box's Hugging Face token: status, set, clear."),
    "models": ("models", "Models stored on the box: size, proof, who has them open."),
    "download": ("download", "Download a repository and prove every byte."),
    "verify": ("verify", "Prove what is on the box against its manifest."),
    "deploy": ("deploy", "From a recipe to a server that is proved ready; resumable."),
    "serve": ("serve", "Servers: start, stop, restart, status, logs, adopt, install."),
    "preflight": ("preflight", "All gates of a recipe, all blockers in one list."),
    "exec": ("exec", "Run a Python program file on the box; arguments travel as data."),
    "shell": ("shell", "Hand the terminal to `ssh HOST`."),
    "recipe": ("recipe", "Recipes: list, show, check, new."),
    "wait": ("wait", "Wait for a server, a download or a job."),
    "bench": ("bench", "Measure the running server at each concurrency."),
    "sweep": ("sweep", "Measure recipes × flags × concurrency; resumable."),
    "runs": ("runs", "Stored runs: list, show, compare, export, import."),
    "jobs": ("jobs", "Jobs on a box: list, show, stop, pause, resume, prune."),
    "doctor": ("doctor", "Check a box, or this laptop; write a bundle for a bug report."),
    "config": ("config", "Where configuration lies, what it says, its schema."),
    "completion": ("completion", "Print the completion script of a shell."),
}

COMPLETE = "_GPUDECK_COMPLETE"  # set by the completion scripts of the shells
