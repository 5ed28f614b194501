"""The life of a server: plan, deploy, READY, smoke, stop, memory back."""

from __future__ import annotations

from typing import Any

from tests.acceptance.place import LANE_A, LANE_B, Place
from tests.acceptance.sight import compared

RECIPES = ("ar", "ngram", "dflash", "tp2", "oom", "bad")


def plan(place: Place) -> None:
    """All gates, dry; the first one introspects."""
    for name in RECIPES:
        told = place.run("preflight", "local", name, "--dry-run")
        gates = told.data.get("gates", []) if isinstance(told.data, dict) else []
        place.fact(name, {gate["name"]: f"{gate['verdict']}: {gate['sentence']}" for gate in gates})


def deploy(place: Place, recipe: str, *, loaded: str = "") -> str:
    """From the recipe to READY and a chat; the server's id. `loaded`: compare with nvidia-smi under this name."""
    done = place.run("deploy", "local", recipe, record=f"deploy-{recipe}", limit_s=420)
    server = server_of(done.data)
    place.fact(f"deployed {recipe}", {name: server.get(name) for name in KEPT})
    if loaded and done.code == 0:
        compared(place, loaded)
    return str(server.get("id") or "")


KEPT = ("id", "phase", "proved_by", "limits", "actuals", "remarks", "smoke", "cause", "cause_phase", "advice")


def server_of(data: Any) -> dict[str, Any]:
    return data.get("server", {}) if isinstance(data, dict) else {}


def stop(place: Place, server: str, record: str) -> None:
    """Stop one server; its exit and its memory."""
    done = place.run("serve", "local", "stop", server, record=record, limit_s=150)
    told = server_of(done.data)
    place.fact(f"stopped {server}", {key: told.get(key) for key in ("phase", "exit_code", "signal", "memory_returned")})


def deploy_ar(place: Place) -> None:
    deploy(place, "ar", loaded="loaded")


def deploy_calm(place: Place) -> None:
    deploy(place, "calm")


def deploy_dflash(place: Place) -> None:
    server = deploy(place, "dflash-b")
    if server:
        place.run("serve", "local", "status", server)
        stop(place, server, "stop-dflash-b")


def stop_a(place: Place) -> None:
    """Whatever serves on lane A's port."""
    stop(place, str(LANE_A), "stop-a")


def stop_b(place: Place) -> None:
    """Whatever serves on lane B's port."""
    stop(place, str(LANE_B), "stop-b")


def smoke(place: Place) -> None:
    """The all-reduce over both GPUs, as part of the gates."""
    done = place.run("preflight", "local", "tp2", "--smoke", record="smoke")
    gates = done.data.get("gates", []) if isinstance(done.data, dict) else []
    place.fact("host gate", next((gate for gate in gates if gate["name"] == "host"), None))


def tp2(place: Place) -> None:
    server = deploy(place, "tp2", loaded="loaded-tp2")
    if server:
        stop(place, server, "stop-tp2")
