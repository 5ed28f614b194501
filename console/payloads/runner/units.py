"""The runner as a systemd user unit, where a user manager stays after the logout (lingering).

The unit's main process is the runner: systemd's TERM means stop to it, and what it does not end in time, the unit
kills as a whole. Environment and secrets are not the unit's: the runner reads them from the job's folder.
"""

from __future__ import annotations

import base64
import os
import pwd
import shutil
import subprocess
import sys
from typing import Any

from . import folder

INPUT = "runner.json"
MARGIN_S = 20.0  # for the rest of the tree after the grace of the main process


def launch(job_id: str, directory: str, program: dict[str, Any], grace_s: float) -> str | None:
    """Start the runner in a unit of its own and give the unit's name; None where that cannot be."""
    runtime = _lingering()
    if runtime is None:
        return None
    unit = f"gpudeck-{job_id}.service"
    path = os.path.join(directory, INPUT)
    folder.write(directory, INPUT, base64.b64decode(program["payload"]))
    try:
        subprocess.run(
            command(unit, path, program["stage0"], grace_s),
            env=dict(os.environ, XDG_RUNTIME_DIR=runtime),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        folder.remove(directory, INPUT)
        return None
    return unit


def command(unit: str, path: str, stage0: str, grace_s: float) -> list[str]:
    """`%` would be a specifier in the path of a unit's property."""
    properties = [
        "Type=exec",
        "KillMode=mixed",
        "Restart=no",
        f"TimeoutStopSec={grace_s + MARGIN_S:.0f}",
        "StandardInput=file:" + path.replace("%", "%%"),
        "StandardOutput=null",
        "StandardError=null",
    ]
    words = ["systemd-run", "--user", "--collect", "--quiet", "--unit=" + unit]
    words += ["--property=" + each for each in properties]
    words.append("--setenv=XDG_STATE_HOME=" + os.path.dirname(os.path.dirname(folder.root())))
    return [*words, "--", sys.executable, "-I", "-S", "-u", "-c", stage0]


def _lingering() -> str | None:
    """The runtime directory of a user manager that outlives the connection."""
    runtime = f"/run/user/{os.getuid()}"
    if not os.path.isdir("/run/systemd/system") or not os.path.exists(os.path.join(runtime, "systemd", "private")):
        return None
    user = pwd.getpwuid(os.getuid()).pw_name
    lingers = os.path.exists(os.path.join("/var/lib/systemd/linger", user))
    return runtime if lingers and shutil.which("systemd-run") else None
