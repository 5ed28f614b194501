"""Starting: arguments, environment, input and secrets arrive as data; the record tells who and what."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jobbox import JobBox, alive, drained, ended, log, logged, record, until

SHOW = "import os, sys, json; print(json.dumps([sys.argv[1:], dict(os.environ), sys.stdin.read(), os.getcwd()]))"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_arrives_byte_for_byte(box: JobBox, tmp_path: Path) -> None:
    odd = ["; $(touch pwned)", "two\nlines", "\"'`\\", "", "--", "ä\u202e"]
    text = base64.b64encode("in\nput ü".encode()).decode()
    where = tmp_path / "a dir"
    where.mkdir()
    job = box.run(
        sys.executable, "-c", SHOW, *odd, "{job_dir}/x", env={"ODD": odd[0]}, stdin=text, cwd=str(where)
    )  # fmt: skip
    assert ended(job)["code"] == 0
    argv, env, stdin, cwd = json.loads(log(job))
    assert argv == [*odd, f"{job}/x"]
    assert (env["ODD"], stdin, cwd) == (odd[0], "in\nput ü", str(where))
    assert env["GPUDECK_JOB_DIR"] == str(job)
    assert list(where.iterdir()) == []


def test_the_record_and_its_permissions(box: JobBox) -> None:
    job = box.run("sleep", "60", meta={"port": 30000})
    wrote = record(job)
    assert wrote["argv"] == ["sleep", "60"]
    assert (wrote["kind"], wrote["by"], wrote["meta"]) == ("test", "me@laptop", {"port": 30000})
    assert wrote["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for who in ("", "runner_"):
        fields = Path(f"/proc/{wrote[who + 'pid']}/stat").read_text().rpartition(")")[2].split()
        assert int(fields[19]) == wrote[f"{who}start_ticks"]
    assert {path.name for path in job.iterdir()} == {
        "job.json", "log", *(f"{name}.reserved" for name in ("exit.json", "drained.json", "stop.json", "pause")),
    }  # fmt: skip
    assert {mode(path) for path in job.iterdir()} == {0o600}
    assert mode(job) == mode(box.root) == 0o700


def test_the_job_keeps_the_umask_of_the_login(box: JobBox) -> None:
    before = os.umask(0o027)
    try:
        job = box.run(sys.executable, "-c", "import os; print(oct(os.umask(0)))")
    finally:
        os.umask(before)
    assert logged(job, "\n") == "0o27\n"


@pytest.mark.parametrize(
    ("argv", "more", "code", "reason"),
    [
        (("/no/such/program",), {}, 127, "/no/such/program: No such file or directory"),
        (("no-such-program-anywhere",), {}, 127, "no-such-program-anywhere: No such file or directory"),
        (("/etc/passwd",), {}, 126, "/etc/passwd: Permission denied"),
        (("true",), {"cwd": "/no/such/folder"}, 127, "/no/such/folder: No such file or directory"),
    ],
)
def test_what_cannot_run_says_why(
    box: JobBox, argv: tuple[str, ...], more: dict[str, str], code: int, reason: str
) -> None:
    job = box.run(*argv, **more)
    assert (ended(job)["code"], ended(job)["reason"]) == (code, reason)
    assert drained(job)
    assert log(job) == f"gpudeck: {reason}\n"


def test_exit_codes_and_signals(box: JobBox) -> None:
    assert ended(box.run("sh", "-c", "exit 42"))["code"] == 42
    end = ended(box.run("sh", "-c", "kill -9 $$"))
    assert (end["code"], end["signal"], end["oom"]) == (None, 9, None), "signal 9 alone is no memory kill"


def test_no_secret_is_where_anybody_could_read_it(box: JobBox) -> None:
    secret = "canary-4f1d-secret"
    program = (
        "import os, sys, time; print(len(os.environ['KEY']), open(sys.argv[1]).read(), flush=True); time.sleep(60)"
    )
    job = box.run(
        sys.executable, "-c", program,
        "{job_dir}/secrets.yaml",
        secret_env={"KEY": secret}, files={"secrets.yaml": base64.b64encode(b"api-key: canary").decode()},
    )  # fmt: skip
    assert logged(job, "canary") == f"{len(secret)} api-key: canary\n"
    assert record(job)["env"]["KEY"] == "***"
    holders = [path for path in job.iterdir() if secret.encode() in path.read_bytes()]
    assert holders == []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert secret.encode() not in line.read_bytes()
        except OSError:
            continue
    assert mode(job / "secrets.yaml") == 0o600
    box.stop(job, 0)
    drained(job)
    assert not (job / "secrets.yaml").exists(), "the job's secrets go with it"


def test_a_secret_as_an_argument_is_refused(box: JobBox) -> None:
    answer = box.start("server", "--key=canary-4f1d", secret_env={"KEY": "canary-4f1d"})
    assert "must not be an argument" in answer["error"]
    assert list(box.root.glob("test-*")) == []


def test_the_same_target_runs_once_and_says_who_runs_it(box: JobBox) -> None:
    first = box.run("sleep", "60", key="one target")
    second = box.start("sleep", "60", key="one target", by="you@desktop")
    assert second["refused"] == "exists"
    assert (second["job"]["id"], second["job"]["by"]) == (first.name, "me@laptop")
    assert alive(record(first)["pid"])
    assert "job" in box.start("sleep", "60", key="another target")
    assert "job" in box.start("sleep", "60", key="one target", kind="other")
    box.stop(first, 0)
    drained(first)
    assert "refused" not in box.start("sleep", "60", key="one target")


def test_the_same_id_again_is_the_same_job(box: JobBox) -> None:
    first = box.start("sleep", "60", id="repeat-1")
    assert box.start("sleep", "60", id="repeat-1") == first


def test_two_starts_at_once_give_one_job(box: JobBox) -> None:
    program = (
        "import sys; sys.path[:0] = sys.argv[2:]\n"
        "from pathlib import Path; from tests.support.jobbox import JobBox\n"
        "print(JobBox(Path(sys.argv[1])).start('sleep', '60', id='racer-%d' % __import__('os').getpid(), key='race'))"
    )
    state = box.root.parents[1]
    here = str(Path(__file__).parents[2])
    racers = [
        subprocess.Popen([sys.executable, "-c", program, str(state), here], stdout=subprocess.PIPE) for _ in range(4)
    ]
    answers = [racer.communicate()[0] for racer in racers]
    assert sum(b"refused" in answer for answer in answers) == 3
    assert len(list(box.root.glob("racer-*/job.json"))) == 1


@pytest.mark.parametrize("job_id", ["../x", "", "A", "a/b", "a\n", "." * 3])
def test_an_id_that_is_a_path_is_refused(box: JobBox, job_id: str) -> None:
    assert "is no job id" in box.start("true", id=job_id)["error"]
    assert "is no job id" in box.call("stop", id=job_id, by="x")["error"]


def test_a_runner_that_cannot_start_tells_it(box: JobBox) -> None:
    box.root.parent.mkdir(parents=True)
    box.root.write_text("a file where the folder should be")
    answer = box.start("true")
    assert "error" in answer
    assert str(box.root) in answer["error"]
    box.root.unlink()


def test_the_job_outlives_who_started_it_and_holds_nothing_of_it(box: JobBox) -> None:
    job = box.run("sleep", "60")
    runner = record(job)["runner_pid"]
    assert until(lambda: Path(f"/proc/{runner}/stat").read_text().rpartition(")")[2].split()[1]) == "1"
    targets = {os.readlink(path) for path in Path(f"/proc/{runner}/fd").iterdir()}
    assert targets <= {"/dev/null", str(job / "log")}
    assert {os.readlink(path) for path in Path(f"/proc/{record(job)['pid']}/fd").iterdir()} <= targets
