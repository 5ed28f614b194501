"""The text around the table of docs/performance.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.perf.table import Row, markdown

TEXT = """\
# Performance

What gpudeck costs, each measure against its budget. Written by `python -m tests.perf --markdown` on {today}
({cores}-core VM, Python {python}, {priority}; `python -m compileall` before the first measure).

{table}

## What is close to its budget

The connected console costs a half to 0.6 of what nvitop costs. Half of that is Textual's one repaint a second of header
and GPU pane; nvitop lets curses, which is C, find the changed cells. So the terminal's input is waited for instead of
looked for, watchers wait for facts, widgets keep the lines that did not change, and the samples of a beat arrive in one
packet. A fact costs 4 µs in bus, reducer and recorder; what 1,000 a second cost more than 50 is mostly the painting of
what then changes in each of four frames a second.

Of the load worker's 9 µs an event at 25,600 a second, half is the kernel's: one read an event. It was 8.8 to 10.5 µs
in runs on cores that others used, too.

## How to measure

```
make perf                                     # everything, about six minutes
.venv/bin/python -m tests.perf start replay   # only these
.venv/bin/python -m tests.perf --markdown     # writes this file
```

One module of `tests/perf` is one measure. A part that is missing (sshd, a C compiler, nvitop, uvloop) is a row that
says so. Nothing here is a test: a busy machine makes wall times longer, so a row over its budget is for a person to
judge. CPU is what the kernel counted for the process; ratios come from processes that ran in the same minute.

- Wall times (first frame, first GPU, latency) mean something only when a processor is free. On a shared machine, as
  root: `chrt -r 1 .venv/bin/python -m tests.perf start latency`.
- The agent looks for servers, so those of other people on this machine cost, too:
  `unshare --pid --fork --mount-proc .venv/bin/python -m tests.perf beside_nvitop` hides them.
- The box is a real sshd on loopback with eight GPUs of a fake NVML library written in C (`tests/fakes/nvml.c`), loaded
  by the real nvidia-ml-py. Utilisation, power and temperature change each second; each GPU holds a process with a real
  command line.
- The load worker runs under the box's interpreter: `GPUDECK_FAST_PYTHON` names one that has uvloop and orjson (a
  virtual environment with both is enough). `GPUDECK_REAL_SGLANG` names the directory of a real SGLang 0.5.23
  (`venv`, `models/tiny`, `lib`), whose own benchmark is measured beside it.
- The mixed hour (`tests/perf/mixed_hour.py`) is 82,800 facts: each second one GPU sample, one of the machine, ten log
  lines, twenty small ones.
"""


def document(rows: Sequence[Row]) -> str:
    """The whole page."""
    today = datetime.now(UTC).date()
    priority = "ordinary priority" if os.sched_getscheduler(0) == os.SCHED_OTHER else "real-time priority"
    return TEXT.format(
        today=today,
        cores=os.cpu_count(),
        python=platform.python_version(),
        priority=priority,
        table=markdown(rows),
    )
