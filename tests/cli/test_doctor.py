"""`gpudeck doctor` of a box over a real OpenSSH server, of the laptop, and the bundle for a bug report."""

from __future__ import annotations

import json
import os
import stat
import tarfile
from pathlib import Path
from typing import Any

from tests.support.fakes import Fleet
from tests.support.gpudeck import Gpudeck
from tests.support.ports import free_port
from tests.support.sshd import Sshd, user

NAMES = {"ssh", "shell", "python", "driver", "gpus", "topology", "disks", "shared_memory", "clock", "systemd", "locale",
         "state_dir", "open_files"}  # fmt: skip


def checks_of(value: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in value["checks"]}


def opened(bundle: Path) -> dict[str, str]:
    """The bundle's files by name, as text."""
    with tarfile.open(bundle) as tar:
        files = {entry.name.rpartition("/")[2]: tar.extractfile(entry) for entry in tar}
        return {name: file.read().decode() for name, file in files.items() if file}


def test_a_box_is_checked(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    fleet.set(3, pcie_width=8)
    value = gpudeck.json("doctor", box)
    checks = checks_of(value)
    assert (value["schema"], value["host"]) == ("gpudeck.doctor/1", box)
    assert checks.keys() >= NAMES
    for name in ("ssh", "shell", "python", "clock", "state_dir"):
        assert checks[name]["verdict"] == "ok", checks[name]
        assert checks[name]["way_out"] is None
    assert "580.95.05" in checks["driver"]["sentence"]
    assert (checks["gpus"]["verdict"], value["verdict"]) == ("fail", "fail")
    assert "GPU 3: PCIe x8 instead of x16" in checks["gpus"]["sentence"]
    assert "NVLink" in checks["topology"]["sentence"]
    for check in checks.values():
        assert check["verdict"] in ("ok", "unknown") or check["way_out"], check


def test_what_is_wrong_names_one_way_out(gpudeck: Gpudeck, box: str, fleet: Fleet) -> None:
    fleet.call(None, "nvmlInitWithFlags", 18)
    done = gpudeck.run("doctor", box)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("✗ fail    driver"))
    assert "driver/library version mismatch" in lines[at]
    assert lines[at + 1].strip() == "→ reboot the box before the next launch"


def test_a_noisy_shell_and_a_place_that_cannot_be_written(gpudeck: Gpudeck, server: Sshd) -> None:
    with user("bash") as somebody:
        somebody.write(".bashrc", "echo Welcome to the box\n")
        alias = gpudeck.laptop.ready(server, "noisy", somebody.name)
        gpudeck.host(alias, XDG_STATE_HOME="/proc/nowhere")
        checks = checks_of(gpudeck.json("doctor", alias))
    assert checks["shell"]["verdict"] == "warn"
    assert "Welcome to the box" in checks["shell"]["sentence"]
    assert checks["state_dir"]["verdict"] == "fail"


def test_an_interpreter_that_is_not_there(gpudeck: Gpudeck, box: str) -> None:
    gpudeck.config.write_text(f'[hosts.{box}]\npython = "/opt/none/bin/python"\n')
    python = checks_of(gpudeck.json("doctor", box))["python"]
    assert python["verdict"] == "fail"
    assert "/opt/none/bin/python" in python["sentence"]
    assert python["way_out"]


def test_a_box_that_cannot_be_reached_keeps_its_exit_code(gpudeck: Gpudeck, tmp_path: Path) -> None:
    gpudeck.laptop.host("closed", free_port())
    bundle = tmp_path / "b.tar.gz"
    done = gpudeck.run("doctor", "closed", "--bundle", str(bundle), "--json")
    assert (done.returncode, json.loads(done.stdout)["exit"]) == (3, 3)
    (check,) = json.loads(opened(bundle)["doctor.json"])["checks"]
    assert (check["name"], check["verdict"]) == ("ssh", "fail")


def test_an_ssh_configuration_that_trusts_blindly_is_told(gpudeck: Gpudeck, server: Sshd) -> None:
    gpudeck.laptop.ready(server, "blind", "root", "StrictHostKeyChecking no")
    check = checks_of(gpudeck.json("doctor", "blind"))["ssh"]
    assert check["verdict"] == "warn"
    assert "StrictHostKeyChecking" in check["sentence"]


def test_the_laptop_is_checked(gpudeck: Gpudeck) -> None:
    gpudeck.config.parent.chmod(0o700)
    checks = checks_of(gpudeck.json("doctor"))
    for name in ("gpudeck", "ssh", "configuration", "ssh_config", "directories", "recordings", "unicode"):
        assert checks[name]["verdict"] == "ok", checks[name]
    assert checks["terminal"]["verdict"] == "unknown"


def test_the_laptops_faults_are_found(gpudeck: Gpudeck) -> None:
    gpudeck.config.parent.chmod(0o755)
    gpudeck.laptop.config.write_text("Hots typo\n")
    plain = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    checks = checks_of(gpudeck.json("doctor", SSH_AUTH_SOCK="/nowhere/agent", **plain))
    verdicts = {name: check["verdict"] for name, check in checks.items()}
    assert (verdicts["directories"], verdicts["ssh_agent"], verdicts["unicode"]) == ("warn", "warn", "warn")
    assert verdicts["ssh_config"] == "fail"
    assert str(gpudeck.config.parent) in checks["directories"]["way_out"]
    gpudeck.config.write_text("nonsense = 1\n")
    assert checks_of(gpudeck.json("doctor"))["configuration"]["verdict"] == "fail"


def test_the_bundle_holds_what_a_report_needs_and_no_names(gpudeck: Gpudeck, server: Sshd, tmp_path: Path) -> None:
    alias = gpudeck.laptop.ready(server, "secretbox")
    gpudeck.host(alias, **Fleet(tmp_path).env())
    recordings = gpudeck.home / "data" / "gpudeck" / "recordings"
    recordings.mkdir(parents=True, mode=0o700)
    recorded = recordings / "20260131T221504.000-secretbox.jsonl"
    bundle = tmp_path / "report.tar.gz"
    assert gpudeck.run("doctor", alias, "--record", str(recorded), "--bundle", str(bundle)).returncode == 0
    files = opened(bundle)
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600
    assert files.keys() == {"doctor.json", "status.json", "versions.json", "recording.jsonl"}
    assert alias in recorded.read_text()
    for name in (alias, os.uname().nodename):
        assert name not in "".join(files.values())
    assert json.loads(files["status.json"])["host"].startswith("host-")
    assert json.loads(files["versions.json"])["asyncssh"]
    (tmp_path / "again.jsonl").write_text(files["recording.jsonl"])
    replayed = gpudeck.json("--replay", str(tmp_path / "again.jsonl"), "--headless")
    assert replayed["warnings"] == []
    (box,) = replayed["hosts"].values()
    assert len(box["gpus"]) == 8


def test_a_bundle_never_writes_over_a_file(gpudeck: Gpudeck, tmp_path: Path) -> None:
    kept = tmp_path / "kept.tar.gz"
    kept.write_text("precious")
    done = gpudeck.run("doctor", "--bundle", str(kept))
    assert done.returncode == 2
    assert "kept.tar.gz" in done.stderr
    assert kept.read_text() == "precious"
