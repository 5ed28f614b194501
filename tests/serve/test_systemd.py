"""Servers as units of a real systemd, in a booted container, over its own sshd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import served
from tests.support.booted import MODEL, PYTHON, Booted, booted, need_systemd
from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.ports import free_port
from tests.support.served import until

pytestmark = pytest.mark.slow
KEY = "sk-test-0123456789abcdef"


class Operator:
    """`gpudeck … box …`, and the box itself for a second look."""

    def __init__(self, gpudeck: Gpudeck, box: Booted) -> None:
        self.gpudeck, self.box, self.said = gpudeck, box, ""

    def serve(self, *words: str, exit_code: int = 0) -> str:
        done = self.gpudeck.run("serve", "box", *words, STANDIN_KEY=KEY)
        assert done.returncode == exit_code, done.stderr + done.stdout
        assert KEY not in done.stdout + done.stderr
        self.said = done.stderr
        return done.stdout

    def server(self) -> dict[str, Any]:
        found: dict[str, Any] = self.gpudeck.json("serve", "box", "status")["server"]
        return found


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    need_systemd()
    laptop = Laptop(tmp_path_factory.mktemp("laptop"))
    with booted(laptop) as box:
        yield Operator(Gpudeck(laptop), box)


def test_a_unit_that_systemd_restarts_is_adopted_and_stopped_through_systemd(operator: Operator) -> None:
    box = operator.box
    box.unit("llm.service", free_port())
    until(lambda: (one := operator.server()) and one["phase"] == "ready")
    assert operator.server()["owner"] == "foreign"
    assert "ready to roll" in operator.serve("logs", "--grep", "fired up")  # the journal has it, and nothing else
    operator.serve("stop", exit_code=4)
    assert box.show("llm.service", "ActiveState") == "active"
    operator.serve("adopt", "--accept", "adopt")
    operator.serve("restart")
    assert operator.server()["owner"] == "adopted"  # the unit was adopted, not one process of it
    box.run("kill", "-9", box.show("llm.service", "MainPID"))
    until(lambda: box.show("llm.service", "NRestarts") != "0")
    until(lambda: (one := operator.server()) and one["phase"] == "ready")
    assert operator.server()["owner"] == "adopted"
    assert "stopped as asked" in operator.serve("stop")
    assert box.show("llm.service", "ActiveState") == "inactive"
    assert operator.server() is None
    assert box.run("pgrep", "-f", "launch_server", check=False) == ""


def test_a_recipe_is_installed_as_a_unit_followed_and_removed_without_a_trace(operator: Operator) -> None:
    box = operator.box
    with (operator.gpudeck.laptop.directory / "gpudeck.toml").open("w") as file:
        file.write(served.recipe("one", Path(PYTHON), Path(MODEL), free_port()))
    unit = "gpudeck-serve-one.service"
    assert "READY" in operator.serve("install", "one")
    assert "smoke test: 'The capital of France is Paris.'" in operator.said
    assert (box.show(unit, "KillMode"), box.show(unit, "UnitFileState")) == ("mixed", "enabled")
    assert (operator.server()["owner"], operator.server()["unit"]) == ("ours", unit)
    assert "ready to roll" in operator.serve("logs", "--grep", "fired up")
    assert "READY" in operator.serve("restart")
    assert KEY not in box.run("cat", f"/etc/systemd/system/{unit}")
    operator.serve("uninstall", "one")
    assert operator.server() is None
    assert box.run("find", "/etc/systemd/system", "/root/.local/state/gpudeck", "-name", "gpudeck-serve*") == ""
    operator.serve("uninstall", "one", exit_code=1)


def test_a_server_started_from_a_login_is_never_taken_for_the_service_of_the_logins(operator: Operator) -> None:
    box, port = operator.box, free_port()
    words = f"{PYTHON} -m sglang.launch_server --model-path {MODEL} --port {port} --device cpu --load-format dummy"
    # Without PAM a login stays in the cgroup of sshd's own service.
    inside = "echo $$ > /sys/fs/cgroup/system.slice/ssh.service/cgroup.procs"
    box.run(f"'{inside}; SGLANG_STANDIN_SPEED=8 exec setsid -f {words} > /tmp/log 2>&1 < /dev/null'".strip("'"))
    until(lambda: (one := operator.server()) and one["phase"] == "ready")
    assert operator.server()["unit"] is None
    operator.serve("adopt", "--accept", "adopt")
    assert "stopped as asked" in operator.serve("stop")
    assert box.show("ssh.service", "ActiveState") == "active"
