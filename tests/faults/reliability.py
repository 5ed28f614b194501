"""The page of what was broken and what came of it, from what the fault tests saw."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.support.hostile import CORPUS

TEXT = """\
# Reliability

What the fault suite broke and what came of it. Written by `make reliability` on {today}; not by hand.

A row is a test of `tests/faults` on a real sshd (where the link is meant: behind a TCP proxy, or in a network
namespace at the other end of a cable), the real agent, a fake NVML library, and a job that counts on the box. After
each one the suite asserts: the screen said the words within the time; the job went on counting; all is known again
(link, eight GPUs, the job with its process); each line of the job was told once; the record has every fact once and
replays to the state in which the console ended; no process, file or file handle of ours is left, and no call that
changes a GPU was made. *Seen within* is the longest of all runs, with the limit that the test holds. A run that fails
writes no row.

{table}

Silence counts as lost after 20 s; the rows where a link is given up shorten that to 6 s. A kernel with `netem` plays a
lossy cable, too. An hour, and not more, is the longest that ran live.

## What is fuzzed, and with what

- Terminal text: {corpus} kinds of hostile text ({names}), through log, banner, login script, mount points, process
  names, model names and every free text of a recording, into a real pseudo-terminal: only our own sequences come out.
- Log lines: {units} repeated pieces behind {beginnings} known beginnings, 50 kB each, at most 1 s of CPU; and 200
  random mixtures of them a run, that none raises.
- What strangers may have planted: files without end, JSON without bottom, names that lead elsewhere, directories that
  others can write (`test_planted_files.py`, `test_planted_models.py`, `test_planted_jobs.py`).
{fuzz}

## How to run it

```
make test-slow                         # a few kills, a short sleep, a short soak
make reliability                       # the fault suite, and this page
KILLS=50 SLEEP_S=120 SOAK_S=3600 FUZZ_S=120 make reliability   # some three hours
```

Rows that need root (mounts, users, a private sshd, network namespaces) are skipped without it.
"""


def document(rows: Iterable[dict[str, Any]], today: str) -> str:
    """The whole page."""
    kept = list(rows)
    from tests.serve.test_hostile_lines import BEGINNINGS, UNITS

    return TEXT.format(
        today=today, table=table(row for row in kept if "fault" in row), corpus=len(CORPUS), names=", ".join(CORPUS),
        units=len(UNITS), beginnings=len(BEGINNINGS), fuzz=fuzzed(kept),
    )  # fmt: skip


def table(rows: Iterable[dict[str, Any]]) -> str:
    """One line a fault, in the order of their first runs."""
    faults: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        faults.setdefault(row["fault"], []).append(row)
    lines = ["| fault | trigger | seen within | work lost | left behind | runs |", "|---|---|---|---|---|---|"]
    for name, runs in faults.items():
        seen = [run["seen_s"] for run in runs if run["seen_s"] is not None]
        within = f"{max(seen):.1f} s of {runs[-1]['within_s']:g}" if seen else "nothing to be seen"
        last = runs[-1]
        lines.append(
            f"| {name} | {last['trigger']} | {within} | {_all(runs, 'lost')} | {_all(runs, 'left')} | {len(runs)} |"
        )
    return "\n".join(lines)


def fuzzed(rows: Iterable[dict[str, Any]]) -> str:
    """One line a fuzzer, over all its runs, and one for the boxes that lie."""
    from tests.faults.test_fuzz import BOMBS
    from tests.faults.test_hostile_box import ATTACKS

    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if "fuzz" in row:
            kinds.setdefault(row["fuzz"], []).append(row)
    lines = [
        f"- {what[:1].upper()}{what[1:]} (corpus: {_corpus(runs[-1])}): "
        f"{sum(run['variants'] for run in runs)} damaged variants in {sum(run['seconds'] for run in runs):.0f} s, "
        f"{sum(run['read'] for run in runs)} of them still readable; the others were refused in one sentence."
        for what, runs in kinds.items()
    ]
    lines.append(f"- Gzip bombs: {', '.join(BOMBS)}; each in a process of bounded memory.")
    lines.append(f"- Boxes that lie: {', '.join(attack.name for attack in ATTACKS)}; beside a box that does not.")
    return "\n".join(lines)


def _corpus(run: dict[str, Any]) -> str:
    files = "one file" if run["files"] == 1 else f"{run['files']} files"
    return f"{files}, {run['size'] / 1000:,.0f} kB"


def _all(runs: list[dict[str, Any]], key: str) -> str:
    return ", ".join(dict.fromkeys(run[key] for run in runs))
