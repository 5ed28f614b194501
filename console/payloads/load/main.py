"""The load worker's life: one at a time on a box, a limit in seconds, results before anything optional.

Configuration (JSON): `host`, `port`, `backend` (`generate` or `chat`), `model`, `sampling`, `ignore_eos`, `osl`,
`cache` (`cold` or `warm`), `dataset`, `nonce_seed`, `points` [{`name`, `concurrency`, `repeat`, `rate`?, `cap`?,
`variant`?, and whatever of the rest differs for it}], `bin_s`, `warmup_max_s`, `window_s`, `window_max_s`, `flush_s`,
`drain_s`, `calibrate_s` (0: not), `offered_per_s`, `gpus` [UUIDs], `max_s`.
Environment: `GPUDECK_JOB_DIR` (where the files go), `GPUDECK_API_KEY` (when the server wants one). A file `pause` in
the job's folder holds the next point back.
Points that already have a result are skipped, so that a second start goes on where the first one ended.
Exit status: 0 all points measured, 1 a point failed or the server went away, 75 another worker runs, 130 asked to stop.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from typing import Any

from . import calibrate
from .backends import Backend
from .cpus import settle_down
from .gpus import Sampler
from .output import Output
from .point import NotStarted, Point
from .server import Server, listener

DONE, FAILED, BUSY, STOPPED = 0, 1, 75, 130
PAUSE = "pause"


def default_lock() -> str:
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "gpudeck", "load.lock")


def lock(path: str) -> int | None:
    """The descriptor that holds the lock, or None when another worker has it."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def main(config: dict[str, Any]) -> int:
    directory = os.environ["GPUDECK_JOB_DIR"]
    output = Output(directory, os.environ.get("GPUDECK_API_KEY", ""))
    held = lock(default_lock())
    if held is None:
        output.line("end", rc=BUSY, error="another load worker runs on this box")
        sys.stderr.write("gpudeck load: another load worker runs on this box\n")
        return BUSY
    cores = settle_down()
    seconds, streams = float(config.get("calibrate_s", 0)), most_streams(config)
    mock = calibrate.start_mock(float(config["offered_per_s"]), streams) if seconds else None
    uses_uvloop = faster_loop()
    output.line("start", pid=os.getpid(), cores=cores, uvloop=uses_uvloop, points=len(config["points"]))
    rc = asyncio.run(Worker(config, output, os.path.join(directory, PAUSE)).run(mock, seconds, streams))
    output.line("end", rc=rc)
    return rc


def most_streams(config: dict[str, Any]) -> int:
    return min(256, max([int(spec["concurrency"]) for spec in config["points"]] or [1]))


def faster_loop() -> bool:
    """uvloop when it can be imported: half the CPU per event."""
    try:
        import uvloop  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return False
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    return True


class Worker:
    """Runs the points in order, within the time limit, until it is asked to stop."""

    def __init__(self, config: dict[str, Any], output: Output, pause: str) -> None:
        self.config, self.output, self._pause = config, output, pause
        self._stopped = False
        self._point: Point | None = None

    async def run(self, mock: tuple[int, int] | None, seconds: float, streams: int) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.call_later(float(self.config.get("max_s", 86400)), self.stop)
        calibration = await self._calibrate(mock, seconds, streams)
        backend = Backend(self.config)
        server = Server(backend, listener(backend.port))
        sampler = Sampler(list(self.config.get("gpus") or []))
        sampler.start()
        rc = DONE
        for spec in self.config["points"]:
            await self._while_paused()
            if self._stopped or rc != DONE:
                break
            if not self.output.done(spec["name"]):
                rc = await self._measure(spec, server, sampler, calibration)
        sampler.stop()
        return STOPPED if self._stopped else rc

    def stop(self) -> None:
        self._stopped = True
        if self._point is not None:
            self._point.stop()

    async def _while_paused(self) -> None:
        if os.path.lexists(self._pause) and not self._stopped:
            self.output.line("state", point="", state="paused")
        while os.path.lexists(self._pause) and not self._stopped:  # noqa: ASYNC110
            await asyncio.sleep(0.5)

    async def _calibrate(self, mock: tuple[int, int] | None, seconds: float, streams: int) -> dict[str, Any]:
        if mock is None:
            return {}
        self.output.line("state", point="", state="calibrate")
        try:
            result = await calibrate.measure(mock[1], streams, seconds, self.config.get("backend", "generate"))
        finally:
            calibrate.end_mock(mock[0])
        self.output.line("calibration", **result)
        return result

    async def _measure(
        self, spec: dict[str, Any], server: Server, sampler: Sampler, calibration: dict[str, Any]
    ) -> int:
        """A point that was ended early is kept as well, marked `aborted`; its name stays free for another try."""
        point = self._point = Point(self.config, spec, server, self.output, sampler)
        try:
            result = await point.run()
        except NotStarted as error:
            self.output.line("point", name=spec["name"], error=str(error))
            return FAILED
        finally:
            self._point = None
        result["client"]["calibrated_events_per_s"] = calibration.get("events_per_s")
        kept = spec["name"] + (".aborted" if result["aborted"] or result["gone"] else "")
        self.output.point(kept, result, point.requests(result))
        gone = f"the server went away: {result['gone']}" if result["gone"] else ""
        self.output.line("point", name=kept, error=gone)
        return FAILED if gone else DONE
