"""The program: `python -m sglang.launch_server …`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

from .engine import Engine
from .log import say
from .srt.server_args import prepare_server_args
from .start import FAIL, SPEED, Start
from .web import Web


def main() -> None:
    """Start, serve until SIGTERM, drain, end with 0."""
    args = prepare_server_args(sys.argv[1:])
    start = Start(args)
    start.run()
    sys.exit(asyncio.run(_serve(start)))


async def _serve(start: Start) -> int:
    args = start.args
    engine = Engine(start.max_running, start.tokens, start.speculative, args.decode_log_interval)
    web = Web(args, engine, start.context)
    say(f"INFO:     Started server process [{os.getpid()}]")
    say("INFO:     Application startup complete.")
    try:
        server = await asyncio.start_server(web.connection, args.host, args.port, limit=64 * 2**20, backlog=512)
    except OSError:
        where = f"('{args.host}', {args.port})"
        say(f"ERROR:    [Errno 98] error while attempting to bind on address {where}: address already in use")
        start.kill_children()
        return 1
    say(f"INFO:     Uvicorn running on http://{args.host}:{args.port} (Press CTRL+C to quit)")
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: _stop(stopping))
    tasks = [asyncio.create_task(work) for work in (engine.run(), _warm_up(web), _watch(start, engine, stopping))]
    await stopping.wait()
    await engine.drained()
    say("Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].")
    for task in tasks:
        task.cancel()
    server.close()
    start.kill_children()
    say("INFO:     Shutting down")
    say(f"INFO:     Finished server process [{os.getpid()}]")
    return 0


def _stop(stopping: asyncio.Event) -> None:
    say("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    stopping.set()


async def _warm_up(web: Web) -> None:
    """A while in which `/health` is 503."""
    await asyncio.sleep((60 if FAIL == "slow_warmup" else 0.6) / SPEED)
    web.ready = True
    say("The server is fired up and ready to roll!")


async def _watch(start: Start, engine: Engine, stopping: asyncio.Event) -> None:
    """A scheduler that dies takes the server with it; the GPUs are as busy as it is."""
    busy = False
    while not stopping.is_set():
        await asyncio.sleep(0.2)
        if busy != bool(engine.running):
            busy = bool(engine.running)
            start.busy(0.93 if busy else 0.0)
        for rank, child in enumerate(start.children):
            code = child.poll()
            if code is not None and not stopping.is_set():
                say(f"Subprocess scheduler_{rank} (pid={child.pid}) crashed with exit code {code}. "
                    "Triggering SIGQUIT for cleanup...")  # fmt: skip
                say("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
                start.kill_children()
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
