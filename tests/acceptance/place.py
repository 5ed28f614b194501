"""Where the acceptance runs: folders, recipes, the console as a command, and results on disk."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SHAPE = {
    "hidden_size": 2048, "intermediate_size": 6144, "num_attention_heads": 16, "num_key_value_heads": 8,
    "head_dim": 128, "max_position_embeddings": 32768,
}  # fmt: skip
TARGET = {**SHAPE, "num_hidden_layers": 28, "max_window_layers": 28}
DFLASH = {"mask_token_id": 4, "target_layer_ids": [1, 9, 17, 25]}
DRAFT = {
    **SHAPE, "num_hidden_layers": 4, "max_window_layers": 4, "num_target_layers": 28, "block_size": 8,
    "dflash_config": DFLASH, "layer_types": ["full_attention"] * 4,
}  # fmt: skip
# No prefix cache: SGLang's own benchmark has as many prompts as the vocabulary has words, and would meet them again.
ARGS = {
    "load-format": "dummy", "attention-backend": "triton", "sampling-backend": "pytorch", "grammar-backend": "none",
    "enable-metrics": True, "cuda-graph-max-bs": 64, "disable-radix-cache": True,
}  # fmt: skip
EAGER = {"disable-piecewise-cuda-graph": True}
# Eight tokens an event: the front end of a small model is busy with one event a token before the GPU is.
CALM = {**EAGER, "stream-interval": 8}
LETTERS = "abcfgiklsw"
SPECULATION = {"dflash": "DFLASH", "ngram": "NGRAM"}
LANE_A, LANE_B = 30000, 40000


class Done(NamedTuple):
    """A command that ended. `data` is its JSON, None when it printed none."""

    code: int
    data: Any
    said: str


Step = Callable[["Place"], None]


def prepare(work: Path, gpudeck: str, python: str, models: Path, env: list[str], more: dict[str, Any]) -> None:
    """Folders, models without weights, recipes, a sweep file; a hook that tells what each model's loading took."""
    for name in ("results", "recordings", "xdg", "weights", "hook"):
        (work / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("weights_hook.py"), work / "hook" / "sitecustomize.py")
    _model(models / "tiny", work / "models" / "target", TARGET)
    _model(models / "tiny-draft", work / "models" / "draft", DRAFT)
    (work / "mixed.jsonl").write_text("".join(_mixed()))
    pairs = dict(one.split("=", 1) for one in env) | {"ACCEPTANCE_WEIGHTS": str(work / "weights")}
    pairs["PYTHONPATH"] = os.pathsep.join(filter(None, (str(work / "hook"), pairs.get("PYTHONPATH"))))
    (work / "gpudeck.toml").write_text(_recipes(work, python, pairs, {**ARGS, **more}))
    sweep = {"recipes": ["ar", "ngram", "dflash"], "baseline": "ar", "concurrency": [1, 8, 64], "preset": "sweep"}
    (work / "compare.toml").write_text("[sweep]\n" + _toml(sweep) + "repeats = 1\n")
    (work / "acceptance.json").write_text(json.dumps({"gpudeck": gpudeck, "python": python, "env": pairs}))


def _mixed() -> Iterator[str]:
    """512 prompts of 128 to 256 tokens (letters of one token each in that vocabulary), answers of 64 to 128."""
    source = random.Random(7)
    for _ in range(512):
        letters = source.choices(LETTERS, k=source.randint(128, 256))
        yield json.dumps({"text": " ".join(letters), "max_tokens": source.randint(64, 128)}) + "\n"


def _model(like: Path, folder: Path, changes: dict[str, Any]) -> None:
    shutil.copytree(like, folder, dirs_exist_ok=True)
    config = json.loads((like / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}, indent=1))
    (folder / "tokenizer_config.json").write_text(
        json.dumps(json.loads((like / "tokenizer_config.json").read_text()) | {"model_max_length": 32768})
    )


def gpu_count() -> int:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True, timeout=30).stdout
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def _recipes(work: Path, python: str, env: dict[str, str], args: dict[str, Any]) -> str:
    """`NAME` on the first GPU and `NAME-b` on the last; `tp2` on both; `oom` and `bad` for the faults."""
    last = gpu_count() - 1
    whole: dict[str, dict[str, Any]] = {"ar": args, "dflash": args, "ngram": {**args, **EAGER}}
    text = ""
    for name, given in whole.items():
        flags = {**given, **({"speculative-algorithm": SPECULATION[name]} if name in SPECULATION else {})}
        for suffix, gpu, port in (("", 0, LANE_A), ("-b", last, LANE_B)):
            text += _recipe(work, name + suffix, python, env, flags, [gpu], port, draft=name == "dflash")
    text += _recipe(work, "tp2", python, env, {**args, "tp": 2}, [0, 1], LANE_A)
    text += _recipe(work, "oom", python, env, {**args, **EAGER, "mem-fraction-static": 0.999}, [last], LANE_B)
    text += _recipe(work, "calm", python, env, {**args, **CALM}, [0], LANE_A)
    return text + _recipe(work, "bad", python, env, {**args, "attention-backend": "nosuch"}, [last], LANE_B)


def _recipe(
    work: Path, name: str, python: str, env: dict[str, str], args: dict[str, Any], gpus: list[int], port: int, *,
    draft: bool = False,
) -> str:  # fmt: skip
    given: dict[str, Any] = {"model": str(work / "models" / "target"), "python": python, "port": port, "gpus": gpus}
    if draft:
        given["draft"] = str(work / "models" / "draft")
    tables = f"args = {_inline(args)}\nenv = {_inline(env)}\n"
    return f"[recipes.{name}]\n{_toml(given)}{tables}\n"


def _toml(values: dict[str, Any]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def _inline(values: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items()) + " }"


class Place:
    """Runs the console as its user does, and keeps what it said."""

    def __init__(self, work: Path) -> None:
        self.work = work.absolute()
        told = json.loads((self.work / "acceptance.json").read_text())
        self.gpudeck, self.python, self.recipe_env = shlex.split(told["gpudeck"]), told["python"], told["env"]
        xdg = {
            f"XDG_{kind}_HOME": str(self.work / "xdg" / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        self.env = {**os.environ, **xdg, "NO_COLOR": "1"}
        self.step: dict[str, Any] = {}

    def begin(self, name: str) -> None:
        self.step = {"step": name, "began": time.time(), "commands": [], "facts": {}}

    def end(self) -> None:
        self.step["took_s"] = round(time.time() - self.step["began"], 1)
        path = self.work / "results" / f"{self.step['step']}.json"
        path.write_text(json.dumps(self.step, indent=1))

    def fact(self, name: str, value: Any) -> None:
        self.step["facts"][name] = value

    def argv(self, *words: str, record: str = "") -> list[str]:
        more = ["--record", str(self.recording(record))] if record else []
        return [*self.gpudeck, *words, *more]

    def recording(self, name: str) -> Path:
        path = self.work / "recordings" / f"{name}.jsonl"
        path.unlink(missing_ok=True)
        return path

    def run(self, *words: str, record: str = "", limit_s: float = 300.0) -> Done:
        """One command to its end; past the limit it is interrupted, as ctrl+c does."""
        began = time.monotonic()
        process = self.start(*words, "--json", record=record)
        try:
            out, said = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=20)
        return self.keep(words, process.returncode, out, said, began)

    def start(self, *words: str, record: str = "") -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*words, record=record), env=self.env, cwd=self.work, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def keep(self, words: tuple[str, ...], code: int, out: str, said: str, began: float) -> Done:
        try:
            data = json.loads(out)
        except ValueError:
            data = None
        told = {"words": words, "code": code, "took_s": round(time.monotonic() - began, 2), "said": said[-6000:]}
        self.step["commands"].append(told | {"data": data if data is not None else out[-6000:]})
        return Done(code, data, said)

    def jobs(self) -> list[Path]:
        """Folders of the server jobs, the oldest first."""
        return sorted((self.work / "xdg/state/gpudeck/jobs").glob("serve-*"), key=lambda path: path.stat().st_mtime)


def until(test: Callable[[], Any], limit_s: float) -> Any:
    """Wait for a state; its value, or the last one when it did not come in time."""
    deadline = time.monotonic() + limit_s
    while not (value := test()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return value
