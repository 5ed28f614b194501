"""Boxes without GPUs and disks of their own: the C fakes of tests/fakes, compiled once a test session."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.support.requirements import need

SOURCES = Path(__file__).parent.parent / "fakes"
MIB = 1024 * 1024

H200: dict[str, Any] = {
    "name": "NVIDIA H200",
    "total": 150754820096,
    "reserved": 644939776,
    "used": 0,
    "util": 0,
    "memory_util": 0,
    "power": 76500,
    "power_limit": 700000,
    "power_limit_default": 700000,
    "energy": 1234567,
    "temperature": 31,
    "sm_clock": 345,
    "sm_clock_max": 1980,
    "slowdown": 92,
    "reasons": 1,
    "persistence": 1,
    "compute_mode": 0,
    "ecc": 1,
    "mig_mode": 0,
    "ecc_corrected": 0,
    "ecc_uncorrected": 0,
    "remapped": "0 0 0 0",
    "field_230": 0,
    "pcie_gen": 5,
    "pcie_gen_max": 5,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "pcie_replays": 0,
    "nvlink": 1,
    "path": 50,
    "p2p": 0,
    "p2p_nvlink": 0,
}


@functools.cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="gpudeck-fakes-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@functools.cache
def library(source: str, *flags: str) -> Path:
    """The shared library of a C source of tests/fakes."""
    need("cc", shutil.which("cc") is not None, "the C fakes are compiled")
    path = _folder() / f"{source}{''.join(flags)}.so"
    command = [
        "cc",
        "-O1",
        "-shared",
        "-fPIC",
        *flags,
        "-o",
        str(path),
        str(SOURCES / f"{source}.c"),
        "-lpthread",
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return path


def uuid(index: int) -> str:
    return f"GPU-{index:08d}-aaaa-bbbb-cccc-000000000000"


class Fleet:
    """The GPUs that the fake NVML plays; every change is there for the program's next call."""

    def __init__(self, folder: Path, count: int = 8, *, old_driver: bool = False, **fields: Any) -> None:
        self._state, self.log = folder / "nvml.state", folder / "nvml.log"
        self._old = old_driver
        self.host: dict[str, Any] = {"driver": "580.95.05", "cuda": 13000}
        self.gpus: list[dict[str, Any]] = [
            {**H200, "uuid": uuid(i), "bus": f"00000000:{i + 1:02X}:00.0", **fields} for i in range(count)
        ]
        self.write()

    def write(self) -> None:
        lines = [f"host {key} {value}" for key, value in self.host.items()]
        for index, fields in enumerate(self.gpus):
            for key, value in fields.items():
                lines += [f"gpu {index} {key} {item}" for item in (value if isinstance(value, list) else [value])]
        fresh = self._state.with_suffix(".new")
        fresh.write_text("\n".join(lines) + "\n")
        fresh.replace(self._state)

    def set(self, index: int, **fields: Any) -> None:
        """Change fields of a GPU; None takes one away (NotSupported)."""
        gpu = self.gpus[index]
        gpu.update(fields)
        self.gpus[index] = {key: value for key, value in gpu.items() if value is not None}
        self.write()

    def call(self, index: int | None, name: str, what: int | str | None) -> None:
        """What a call does instead: an error code, `hang`, `hang_while`, `delay MS`; `*` is every call."""
        target = self.host if index is None else self.gpus[index]
        target[f"!{name}"] = what
        if what is None:
            del target[f"!{name}"]
        self.write()

    def env(self) -> dict[str, str]:
        flags = ["-DOLD_DRIVER"] if self._old else []
        return {
            "GPUDECK_NVML_LIBRARY": str(library("nvml", *flags)),
            "FAKE_NVML_STATE": str(self._state),
            "FAKE_NVML_LOG": str(self.log),
        }

    def calls(self, index: int | None = None) -> list[str]:
        """The calls so far, of one GPU or of all."""
        rows = [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [name for name, at in rows if index is None or int(at) == index]


class Disks:
    """The mounts and file systems that the statvfs shim plays. The root disk is always there."""

    def __init__(self, folder: Path) -> None:
        self._rules, self._mounts, self._files = folder / "disks", folder / "mountinfo", folder / "files"
        self._lines: list[str] = []
        self._answers: dict[str, str] = {}
        self.mount("/", "ext4", "/dev/vda1", "8:1")
        self.answer("/", total=100 * 10**9, available=50 * 10**9)

    def mount(
        self,
        path: str,
        fstype: str,
        source: str,
        device: str,
        *,
        root: str = "/",
        own: str = "rw",
        super: str = "rw",
    ) -> None:
        path, root = (text.replace("\\", "\\134").replace(" ", "\\040") for text in (path, root))
        self._lines.append(
            f"{len(self._lines) + 20} 1 {device} {root} {path} {own},relatime shared:1 - {fstype} {source} {super}"
        )
        self._mounts.write_text("\n".join(self._lines) + "\n")

    def remount(self, path: str, own: str, super: str) -> None:
        """Change the options of a mount: its own, and the file system's."""
        for at, line in enumerate(self._lines):
            fields = line.split(" ")
            if fields[4] == path:
                self._lines[at] = " ".join([*fields[:5], own, *fields[6:-1], super])
        fresh = self._mounts.with_suffix(".new")
        fresh.write_text("\n".join(self._lines) + "\n")
        fresh.replace(self._mounts)

    def answer(
        self,
        path: str,
        *,
        total: int = 10**12,
        available: int = 5 * 10**11,
        unused: int | None = None,
        inodes: tuple[int, int] = (1000, 900),
        flags: int = 0,
    ) -> None:
        unused = available if unused is None else unused
        self._answer(path, f"{total} {available} {unused} {inodes[0]} {inodes[1]} {flags}")

    def fail(self, path: str, errno: int) -> None:
        self._answer(path, f"error {errno}")

    def hang(self, path: str) -> None:
        self._answer(path, "hang")

    def file(self, path: str, text: str) -> None:
        """Another content of a file of /proc or /sys."""
        target = self._files / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def _answer(self, path: str, rule: str) -> None:
        self._answers[path] = rule
        fresh = self._rules.with_suffix(".new")
        fresh.write_text("".join(f"{key} {value}\n" for key, value in self._answers.items()))
        fresh.replace(self._rules)

    def env(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(library("statvfs")),
            "FAKE_DISKS": str(self._rules),
            "FAKE_MOUNTINFO": str(self._mounts),
            "FAKE_FILES": str(self._files),
        }
