"""Jobs as units of a real user manager that lingers, for a login without rights, over a real sshd of a booted box.

The box kills what a login leaves behind (`KillUserProcesses=yes`): only a unit of its own outlives the session there.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from console.config import HostConfig, load_config
from console.session.live import LiveSession
from console.session.ways import Ways
from console.workers import jobs
from tests.support import served
from tests.support.booted import MODEL, PYTHON, Booted, booted, need_systemd
from tests.support.gpudeck import Gpudeck
from tests.support.jobbox import STUBBORN
from tests.support.laptop import Laptop
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port
from tests.support.served import until

pytestmark = pytest.mark.slow
USER, KEY = "deck", "sk-test-0123456789abcdef"


class Deck:
    """An operator who logs in as `deck`, and root for a second look."""

    def __init__(self, gpudeck: Gpudeck, box: Booted) -> None:
        self.gpudeck, self.box = gpudeck, box
        self.jobs = box.root / f"home/{USER}/.local/state/gpudeck/jobs"
        with (gpudeck.laptop.directory / "gpudeck.toml").open("w") as file:
            file.write(served.recipe("one", Path(PYTHON), Path(MODEL), free_port()))

    def command(self, *words: str, exit_code: int = 0) -> str:
        done = self.gpudeck.run(*words, STANDIN_KEY=KEY)
        assert done.returncode == exit_code, done.stderr + done.stdout
        return done.stdout + done.stderr

    def server(self) -> Any:
        return self.gpudeck.json("serve", USER, "status")["server"]

    def job(self, job_id: str) -> Any:
        return next(job for job in self.gpudeck.json("jobs", USER, "list")["jobs"] if job["id"] == job_id)

    def record(self, job_id: str, name: str = "job.json") -> Any:
        return json.loads((self.jobs / job_id / name).read_text())

    def show(self, unit: str, field: str) -> str:
        """A property of a unit of the user manager."""
        machine = ("systemctl", "--user", f"--machine={USER}@", "show", unit, "--property", field, "--value")
        return self.box.run(*machine)

    def processes(self) -> set[str]:
        """What runs as the user, past its manager, its bus and logins."""
        names = self.box.run("ps", "-u", USER, "-o", "comm=", check=False).split("\n")
        return {name for name in names if name} - {"systemd", "(sd-pam)", "dbus-daemon", "sshd"}

    def start(self, kind: str, *argv: str) -> jobs.Started:
        """A job through a live session that then leaves."""
        return asyncio.run(self._start(jobs.JobSpec(kind=kind, key=kind, argv=argv, grace_s=2)))

    async def _start(self, spec: jobs.JobSpec) -> jobs.Started:
        host = HostConfig(name=USER, ssh=USER)
        config = load_config(cwd=self.gpudeck.laptop.directory, env=self.gpudeck.env)
        async with AsyncExitStack() as resources, LiveSession(Ways(config, None, None, resources)) as session:
            session.add(host)
            session.start()
            assert await session.wait(lambda _: session.box(USER) is not None, PATIENCE_S)
            box = session.box(USER)
            assert box is not None
            return await jobs.start(box, spec)


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    need_systemd()
    laptop = Laptop(tmp_path_factory.mktemp("laptop"))
    with booted(laptop) as box:
        settings = box.root / "etc/systemd/logind.conf.d/gpudeck-test.conf"
        settings.parent.mkdir()
        settings.write_text("[Login]\nKillUserProcesses=yes\n")
        box.run("systemctl", "restart", "systemd-logind")
        box.login(USER)
        yield Deck(Gpudeck(laptop), box)


@pytest.fixture(autouse=True)
def own_state(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(deck.gpudeck.home / "state"))


def test_a_server_outlives_the_killed_console_and_the_ended_login_and_is_adopted_and_stopped(deck: Deck) -> None:
    box = deck.box
    box.run("setsid -f sleep 6000 > /dev/null 2>&1 < /dev/null", user=USER)
    until(lambda: "sleep" not in deck.processes())  # a detached process does not outlive its login here
    words = deck.gpudeck.argv("serve", USER, "start", "one")
    console = subprocess.Popen(
        words, env=deck.gpudeck.env | {"STANDIN_KEY": KEY}, cwd=deck.gpudeck.laptop.directory,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: deck.jobs.exists() and any(path.stat().st_size for path in deck.jobs.glob("*/log")), 60)
    console.kill()
    console.wait()
    until(lambda: USER not in box.run("loginctl", "list-sessions", "--no-legend", check=False))
    server = until(lambda: (one := deck.server()) and one["phase"] == "ready" and one, 60)
    record = deck.record(server["id"])
    unit = f"gpudeck-{server['id']}.service"
    assert (server["owner"], record["unit"]) == ("ours", unit)
    assert deck.show(unit, "MainPID") == str(record["runner_pid"])
    assert (deck.show(unit, "KillMode"), deck.show(unit, "Restart")) == ("mixed", "no")
    assert KEY not in box.run("cat", "/proc/*/cmdline") + deck.show(unit, "Environment")
    assert "stopped as asked" in deck.command("serve", USER, "stop")
    assert deck.server()["phase"] == "stopped"
    left_nothing(deck, server["id"])


def left_nothing(deck: Deck, job_id: str) -> None:
    """No process, no unit, no control group, no file but the record and its evidence."""
    unit = f"gpudeck-{job_id}.service"
    until(lambda: deck.show(unit, "LoadState") == "not-found")
    until(lambda: not deck.processes())
    assert deck.box.run("find", "/sys/fs/cgroup", "/run/user", "-name", f"*{job_id}*", check=False) == ""
    names = {path.name for path in (deck.jobs / job_id).iterdir()}
    assert {"job.json", "log", "exit.json", "drained.json"} <= names
    assert not names & {"spec.json", "runner.json"}


def test_a_tree_that_gets_away_is_ended_whole_by_us_and_by_systemd(deck: Deck) -> None:
    ours = deck.start("ours", "python3", "-c", STUBBORN)
    until(lambda: len((deck.jobs / ours.id / "log").read_text().splitlines()) == 4)
    deck.command("jobs", USER, "stop", ours.id, "--grace", "1")
    assert deck.record(ours.id, "exit.json")["signal"] == 15
    assert "@" in deck.record(ours.id, "drained.json")["stopped_by"]
    left_nothing(deck, ours.id)
    theirs = deck.start("theirs", "python3", "-c", STUBBORN)
    until(lambda: len((deck.jobs / theirs.id / "log").read_text().splitlines()) == 4)
    deck.box.run("systemctl", "--user", f"--machine={USER}@", "stop", f"gpudeck-{theirs.id}")
    assert deck.record(theirs.id, "exit.json")["signal"] == 15
    assert deck.record(theirs.id, "drained.json")["stopped_by"] == "the system"
    left_nothing(deck, theirs.id)


def test_a_killed_runner_takes_its_unit_along_and_the_job_is_lost_not_running(deck: Deck) -> None:
    job = deck.start("lost", "sh", "-c", "setsid sleep 600 & exec sleep 600")
    deck.box.run("kill", "-9", str(deck.record(job.id)["runner_pid"]))
    until(lambda: not deck.processes())
    assert deck.job(job.id)["state"] == "lost_unknown"


def test_a_power_cut_loses_what_ran_and_a_shutdown_stops_it_and_neither_starts_it_again(deck: Deck) -> None:
    boots = {deck.box.run("cat", "/proc/sys/kernel/random/boot_id")}
    job, over = deck.start("long", "sleep", "6000"), deck.start("short", "true")
    until(lambda: deck.job(over.id)["state"] == "exited")
    deck.box.cut()
    deck.box.boot()
    assert (deck.job(job.id)["state"], deck.job(over.id)["state"]) == ("lost_reboot", "exited")
    assert not deck.processes()
    deck.command("jobs", USER, "stop", job.id)  # nothing lives: nothing to do, and nobody is signalled
    again = deck.start("long", "sleep", "6000")  # what was lost holds no target
    boots.add(deck.box.run("cat", "/proc/sys/kernel/random/boot_id"))
    deck.box.stop()
    deck.box.boot()
    assert (deck.job(again.id)["state"], deck.job(again.id)["stopped_by"]) == ("signalled", "the system")
    assert not deck.processes()
    assert len(boots | {deck.box.run("cat", "/proc/sys/kernel/random/boot_id")}) == 3
    deck.command("jobs", USER, "prune", "--all")
    assert [path.name for path in deck.jobs.iterdir()] == [".lock"]
