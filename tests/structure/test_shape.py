"""The shape of the project: who may import whom, how large things may grow, what a headless replay loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.patience import COMMAND_S

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(ROOT / "console").rglob("*.py"), *(ROOT / "widgets").rglob("*.py")])

# Room -> rooms of ours that it may import, besides itself. A room is the first name below `console`.
ALLOWED: dict[str, set[str]] = {
    "values": set(),
    "events": {"values"},
    "state": {"events", "values"},
    "gates": {"state", "events", "values", "models", "config"},
    "views": {"state", "events", "values", "gates", "bench", "serve", "models"},
    "journal": {"events", "values"},
    "bus": {"events", "state", "journal", "values"},
    "supervisor": {"events", "state", "journal", "values"},
    "config": {"values"},
    "remote": {"values", "agent", "payloads"},
    "agent": set(),
    "payloads": set(),
    "models": {"values", "config"},
    "serve": {"values", "events"},
    "bench": {"values", "events"},
    "workers": {
        "remote",
        "events",
        "values",
        "bus",
        "config",
        "models",
        "gates",
        "serve",
        "bench",
        "state",
        "payloads",
    },
    "session": {"bus", "supervisor", "state", "journal", "events", "values", "remote", "workers", "config", "demo"},
    "intents": {"gates", "state", "values"},
    "keymap": {"intents"},
    # Its box is a world of its own; its story acts through the console, which knows nothing of it.
    "demo": {"remote", "values", "events", "state", "views", "workers", "config", "models", "bench"},
    "screens": {"views", "session", "intents", "state", "events", "values", "config", "bench", "serve", "widgets"},
    "app": {"events", "screens", "session", "intents", "state", "views", "values", "widgets"},
    "recipes_shipped": set(),
    "widgets": set(),
}
# The command line wires everything, and may import all.
FREE = {"cli", "__main__", "__init__"}

LAPTOP_NEVER = {"huggingface_hub", "pynvml", "sglang"}
ONLY_IN = {"textual": {"widgets", "screens", "app"}, "rich": {"widgets", "screens", "app"}, "asyncssh": {"remote"}}


def room_of(module: str) -> str:
    parts = module.split(".")
    if parts[0] == "widgets":
        return "widgets"
    return parts[1] if len(parts) > 1 else "__init__"


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Imported module names, and whether the import stands at module level outside `if TYPE_CHECKING`."""
    tree = ast.parse(path.read_text())
    inner = {id(node) for outer in ast.walk(tree) if _defers(outer) for node in ast.walk(outer)}
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(tree):
        at_start = id(node) not in inner
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_start) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            name = ".".join(part for part in (base, node.module) if part)
            if name == "console" and node.names[0].name.startswith("__"):
                yield name, at_start
            elif node.module is None or name in ("console", "widgets"):
                yield from ((f"{name}.{alias.name}", at_start) for alias in node.names)
            else:
                yield name, at_start


def _defers(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_in_one_direction(path: Path) -> None:
    room = room_of(module_of(path))
    for name, at_start in imports(path):
        top = name.split(".")[0]
        if top in ("console", "widgets"):
            wanted = room_of(name)
            assert room in FREE or wanted in {room, "__init__"} | ALLOWED[room], f"{room} imports {name}"
        assert not (at_start and top in LAPTOP_NEVER), f"{name} is imported when the module is"
        if top in ONLY_IN:
            assert room in ONLY_IN[top], f"{name} belongs to {ONLY_IN[top]}"


def test_every_room_has_its_line() -> None:
    rooms = {room_of(module_of(path)) for path in SOURCES} - FREE
    assert rooms <= set(ALLOWED)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno + 1 <= 60, f"{node.name} in {path.name}"


def percentile90(sizes: list[int]) -> int:
    return sorted(sizes)[int(len(sizes) * 0.9)]


def test_nine_of_ten_are_smaller_still() -> None:
    files = [path.read_text().count("\n") for path in SOURCES if path.stat().st_size]
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert percentile90(files) <= 250
    assert percentile90(functions) <= 25


def test_the_app_is_wiring() -> None:
    assert (ROOT / "console/app.py").read_text().count("\n") < 200


RECORDING = ROOT / "tests/recordings/first_light.jsonl"


def test_a_headless_replay_loads_neither_screen_nor_link() -> None:
    program = (
        "import sys\nfrom console.cli.main import run\n"
        f"assert run(['--replay', {str(RECORDING)!r}, '--headless', '--json']) == 0\n"
        "loaded = {'textual', 'asyncssh', 'rich', 'huggingface_hub', 'pynvml'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S)
    assert done.returncode == 0, done.stderr


def test_nothing_that_shows_or_works_knows_of_the_demo() -> None:
    rooms = ("console/views", "console/workers", "console/state", "console/events", "console/agent", "widgets")
    for room in rooms:
        for path in (ROOT / room).rglob("*.py"):
            assert "demo" not in path.read_text().lower(), path


def test_a_cancellation_is_never_swallowed() -> None:
    """`asyncio.wait_for` of Python 3.11 drops one that comes with its answer; `asyncio.timeout` does not."""
    rooms = [path for path in SOURCES if path.relative_to(ROOT).parts[1] not in ("payloads", "agent")]
    assert not [path for path in rooms if "asyncio.wait_for(" in path.read_text()]
