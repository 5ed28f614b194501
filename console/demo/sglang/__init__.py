"""An SGLang for machines without GPUs: the log, the HTTP answers and the ends of 0.5.23, with invented numbers.

It is installed under the name `sglang` into the interpreter of a demo box, and started like the real one; nothing
on the console's side knows the difference. The environment of the launch decides how it behaves:
`SGLANG_STANDIN_FAIL` (see `standin/start.py`), `SGLANG_STANDIN_SPEED` (2 halves all times).
"""

from __future__ import annotations

import shutil
from pathlib import Path

VERSION = "0.5.23"


def install(site_packages: Path) -> None:
    """Put the stand-in, with its metadata, into a site-packages directory."""
    shutil.copytree(
        Path(__file__).parent / "standin",
        site_packages / "sglang",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    info = site_packages / f"sglang-{VERSION}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {VERSION}\n", "utf-8")
