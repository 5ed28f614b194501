"""The Hugging Face pane and screen, at the sizes they are designed for."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from console.app import ConsoleApp
from console.events import Event
from console.events import hub as facts
from console.values import CleanText, Unknown, clean
from tests.support.frames import check_frame, frame
from tests.support.played import Controls, PlayedSession, disks, gpus, link_up

FRAMES = Path(__file__).parent / "frames"
TARGET, DRAFTER = clean("moonshotai/Kimi-K2.6"), clean("z-lab/Kimi-K2.6-DFlash")
COMMIT = clean("0baf50ca2eca6cbff193b854e544ebfced7381f8")
HOST = "ct200"


def model(repo: CleanText, proof: facts.Proof, size: int, orphans: int = 0) -> facts.StoredModel:
    return facts.StoredModel(
        path=clean(f"/data/models/{repo.rsplit('/', 1)[-1]}"), exists=True, repo=repo, commit=COMMIT,
        device=clean("259:1"), size_bytes=size, proof=proof, files=70, files_ok=41, total_bytes=595_100_000_000,
        present_bytes=size, proved_bytes=0, orphan_bytes=orphans * 9_300_000_000, orphans=orphans,
    )  # fmt: skip


def asked() -> list[Event]:
    token = facts.TokenChecked(
        host=HOST, state="valid", source=clean("file"), who=clean("bob"), role=clean("read"),
        path=clean("/root/.cache/huggingface/token"), endpoint=clean("https://huggingface.co"),
    )  # fmt: skip
    files = tuple(
        facts.ManifestFile(
            path=clean(f"model-{number:05d}-of-00064.safetensors"), size_bytes=9_298_437_500,
            sha256=clean("a" * 64), git_sha1=Unknown("an LFS file"),
        )
        for number in range(1, 65)
    )  # fmt: skip
    progress = facts.DownloadProgressed(
        host=HOST, job=clean("download-1"), repo=TARGET, path=clean("/data/models/Kimi-K2.6"), phase="downloading",
        total_bytes=595_100_000_000, present_bytes=381_300_000_000, rate_bytes_s=612e6, eta_s=349.0, files=70,
        files_ok=41, in_flight=(
            facts.InFlight(path=files[40].path, bytes=4_600_000_000, size_bytes=9_298_437_500),
            facts.InFlight(path=files[41].path, bytes=1_200_000_000, size_bytes=9_298_437_500),
        ),
    )  # fmt: skip
    return [
        token,
        facts.AccessChecked(
            host=HOST, repo=TARGET, revision=clean("main"), access="ready", commit=COMMIT, who=token.who
        ),
        facts.ManifestRead(host=HOST, repo=TARGET, revision=clean("main"), commit=COMMIT, files=files),
        facts.StoredRead(host=HOST, repo=TARGET, model=model(TARGET, "partial", 381_300_000_000, orphans=2)),
        progress,
        facts.AccessChecked(
            host=HOST, repo=DRAFTER, revision=clean("main"), access="request_needed", commit=COMMIT, who=token.who
        ),
        facts.InventoryRead(host=HOST, models=(model(clean("Qwen/Qwen3-0.6B"), "sha256", 1_519_000_000),)),
    ]


def bad_token() -> list[Event]:
    unknown = Unknown("the token is not proved")
    token = facts.TokenChecked(
        host=HOST, state="rejected", source=clean("env:HF_TOKEN"), who=unknown, role=unknown, shape=clean("quotes")
    )
    broken = facts.DownloadFellShort(
        host=HOST,
        job=clean("download-1"),
        repo=TARGET,
        path=clean("/x"),
        state=clean("disk_full"),
        text=clean("ENOSPC"),
    )
    gone = facts.AccessChecked(
        host=HOST, repo=TARGET, revision=clean("main"), access="token_invalid", commit=unknown,
        token_source=clean("env:HF_TOKEN"),
    )  # fmt: skip
    return [token, gone, broken]


def panes(text: str) -> str:
    """The NEXT line and the panes: header and footer are other tests' matter."""
    return "\n".join(line for line in text.splitlines() if line[:1] in ("│", "╭", "╰") or line.startswith(" NEXT"))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("told", [asked, bad_token])
async def test_the_hub_screen(told: object, size: tuple[int, int]) -> None:
    events = told()  # type: ignore[operator]
    app = ConsoleApp(PlayedSession(*link_up(), *gpus(), *disks(), *events, hosts=[HOST]))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("3")
        await pilot.pause()
        app.tick()
        await pilot.pause()
        name = getattr(told, "__name__", "")
        check_frame(FRAMES / f"hub-{name}-{size[0]}x{size[1]}.txt", panes(frame(app)))


class Asked(Controls):
    """Keeps what was to be deleted."""

    async def remove_stored(self, host: str, path: str) -> str:
        self.asked.append(("remove", path))
        return ""


async def test_a_stored_model_is_deleted_after_a_question_and_never_while_open() -> None:
    free, used = model(clean("Qwen/Qwen3-0.6B"), "sha256", 1_519_000_000), model(TARGET, "sha256", 595_100_000_000)
    used = msgspec.structs.replace(used, open_by=(facts.Holder(pid=4711, command=clean("sglang")),))
    played = PlayedSession(*link_up(), facts.InventoryRead(host=HOST, models=(free, used)), hosts=[HOST])
    controls = Asked(played)
    played.controls = controls
    app = ConsoleApp(played)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await pilot.pause()
        app.tick()
        app.screen.query_one("#stored-table").focus()
        await pilot.press("R")  # the largest comes first, and is open
        await pilot.pause()
        assert "Delete a stored model" not in frame(app)
        await pilot.press("down", "R")
        await pilot.pause()
        shown = frame(app)
        assert "1.5 GB (1.4 GiB)" in shown
        assert "gpudeck models ct200 rm /data/models/Qwen3-0.6B" in shown
        await pilot.press("escape")
        assert controls.asked[-1][0] != "remove"
        await pilot.press("R")
        await pilot.pause()
        await pilot.click("#yes")
        await pilot.pause()
    assert [one for one in controls.asked if one[0] == "remove"] == [("remove", "/data/models/Qwen3-0.6B")]
