"""What the world does to the demo box: the Hub, the disk, the GPUs, other people, the cable."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from console.demo import shelf
from console.demo.box import DemoBox
from console.demo.hub import Faults, model_files

KIB, GIB = 1 << 10, 1 << 30
SMALL, SLOW, SILENT, UNSIZED = "demo/Small", "demo/Slow", "demo/Silent", "demo/Unsized"
NESTED, LARGE, HUGE = "demo/Nested", "demo/Large", "demo/Huge"
SHARDS, SHARD_BYTES = 4, 256 * KIB

# A language model of 70 billion parameters inside a multimodal one: nothing of it stands at the top level.
_LARGE: dict[str, object] = {
    **shelf.CONFIG, "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8,
    "head_dim": 128, "intermediate_size": 28672, "tie_word_embeddings": False,
}  # fmt: skip
_NESTED = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "text_config": dict(shelf.CONFIG)}

# What a command line tool did that printed its help: nothing, and ended with 0.
_SILENT = """
import importlib, sys
del sys.modules["huggingface_hub"]
sys.path.insert(0, {real!r})
library = importlib.import_module("huggingface_hub")
library.snapshot_download = lambda repo, **options: options.get("local_dir")
"""


class World:
    """Changes to the demo box. `heal` takes all of them back, but for what was downloaded."""

    def __init__(self, box: DemoBox) -> None:
        self.home, self.hub, self.cut = box.home, box.hub, box.cut
        self._strangers: list[subprocess.Popen[bytes]] = []
        self._standings = {name: dict(repo.standings) for name, repo in box.hub.repos.items()}
        plain = dict.fromkeys((SMALL, SLOW, SILENT, UNSIZED), shelf.CONFIG)
        for seed, (name, config) in enumerate({**plain, NESTED: _NESTED, LARGE: _LARGE}.items(), 3):
            self.hub.add(name, model_files(SHARDS, SHARD_BYTES, seed=seed, config=config))

    @property
    def models(self) -> Path:
        """Where the box keeps its models."""
        return self.home / "models"

    def heal(self) -> None:
        """The world as it was."""
        vars(self.hub.faults).update(vars(Faults()))
        self.put_token(None)
        self.mend_library()
        for name, standings in self._standings.items():
            self.hub.repos[name].standings = dict(standings)
        for stranger in self._strangers:
            stranger.kill()
            stranger.wait()
        self._strangers.clear()
        self.change_gpus(lambda gpus: gpus.clear())

    # --- the Hub

    def put_token(self, text: str | None) -> None:
        """What lies in the token file, whatever it is; None: there is no file."""
        file = self.home / ".cache" / "huggingface" / "token"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text)
            file.chmod(0o600)

    def offer_more_than_the_disk_holds(self) -> tuple[int, int]:
        """A repository a little larger than what is free: its bytes, and the bytes that are available."""
        stat = os.statvfs(self.home)
        free = stat.f_bavail * stat.f_frsize
        shard = (free + 2 * GIB) // 8
        self.hub.add(HUGE, model_files(8, shard, seed=6, config=shelf.CONFIG, announced=True))
        return 8 * shard, free

    @property
    def _shadow(self) -> Path:
        (site,) = (self.home / "venv" / "lib").glob("python*/site-packages")
        return site / "huggingface_hub"

    def break_library(self) -> None:
        """The box's library returns at once, without an error and without a file."""
        real = (self._shadow.parent / "installed.pth").read_text().strip()
        self._shadow.mkdir(exist_ok=True)
        (self._shadow / "__init__.py").write_text(_SILENT.format(real=real))

    def mend_library(self) -> None:
        shutil.rmtree(self._shadow, ignore_errors=True)

    # --- disks and GPUs

    def truncate(self, file: Path) -> int:
        """Cut a file in half, with the old date; its length before."""
        stat = file.stat()
        os.truncate(file, stat.st_size // 2)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        return stat.st_size

    def change_gpus(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Edit what the invented GPUs play, beside the servers that do it, too."""
        path = self.home / "gpus.json"
        with open(f"{path}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                state = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError):
                state = {}
            change(state.setdefault("gpus", {}))
            new = path.with_suffix(".new")
            new.write_text(json.dumps(state), "utf-8")
            new.replace(path)

    def lose_gpu(self, index: int) -> None:
        """It falls off the bus."""
        self.change_gpus(lambda gpus: gpus.setdefault(str(index), {}).update(lost=True))

    def stranger_on_gpu(self, index: int, size: int) -> int:
        """Somebody starts a training on it; the pid."""
        argv = ["python", "-I", "-S", "-c", "import time; time.sleep(600)", "train.py"]
        stranger = subprocess.Popen(
            argv, executable=sys.executable, cwd=self.home, env={"HOME": str(self.home)}, stdin=subprocess.DEVNULL
        )
        self._strangers.append(stranger)
        held = {"processes": [[stranger.pid, size]], "used_bytes": size, "load": 0.9}
        self.change_gpus(lambda gpus: gpus.setdefault(str(index), {}).update(held))
        return stranger.pid
