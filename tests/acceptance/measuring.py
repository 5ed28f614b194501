"""Measured on the real server: our worker beside SGLang's own benchmark, and a sweep with its report."""

from __future__ import annotations

from tests.acceptance.place import Place

LENGTHS = ("--isl", "256", "--osl", "128")
WINDOW = ("--window", "6")


def opinion(place: Place) -> None:
    """The same question asked by two clients of lane A's autoregressive server."""
    words = ("--recipe", "ar", "--server", "30000", "--concurrency", "1,8,64", *LENGTHS, *WINDOW, "--second-opinion")
    done = place.run("bench", "local", *words, record="bench-ar", limit_s=400)
    place.fact("code", done.code)
    runs = place.run("runs", "list").data
    for one in (runs or {}).get("runs", []):
        place.fact(one["id"], place.run("runs", "show", one["id"]).data)


def sweep(place: Place) -> None:
    done = place.run("sweep", "local", "compare.toml", *LENGTHS, *WINDOW, record="sweep", limit_s=560)
    place.fact("code", done.code)
    found = done.data if isinstance(done.data, dict) else {}
    for one in found.get("runs", []):
        place.fact(one, place.run("runs", "show", one).data)
    for form in ("md", "csv", "json"):
        place.run(
            "runs", "export", found.get("sweep", "compare"), "--format", form, "--out", str(place.work / "report")
        )
