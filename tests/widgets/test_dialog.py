"""Dialogs: the default changes nothing, and what will be done stands there as text."""

import pytest

from tests.support.frames import StyledApp, frame
from widgets.dialog import AskDialog, ConfirmDialog, Dialog, EditDialog, HostKeyDialog

STOP = (("box", "ct200 [red](root)[/]"), ("stops", "pid 41822 and its 8 ranks"))


async def answer(dialog: Dialog[object], *keys: str) -> tuple[object, str]:
    """What a dialog answers to the keys, and its frame before them."""
    app = StyledApp()
    got: list[object] = []
    async with app.run_test(size=(90, 20)) as pilot:
        app.push_screen(dialog, got.append)
        await pilot.pause()
        shown = frame(app)
        await pilot.press(*keys)
        await pilot.pause()
    return (got[0] if got else "open"), shown


@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (("enter",), None),
        (("escape",), None),
        (("right", "enter"), True),
        (("tab", "enter"), True),
        (("right", "left", "enter"), None),
    ],
)
async def test_only_the_second_button_does_it(keys: tuple[str, ...], result: object) -> None:
    dialog = ConfirmDialog("Stop the [b]server", STOP, yes="Stop [b]it", twin="gpudeck serve ct200 stop")
    got, shown = await answer(dialog, *keys)
    assert got is result
    for text in ("Stop the [b]server", "ct200 [red](root)[/]", "pid 41822", "gpudeck serve ct200 stop", "Stop [b]it"):
        assert text in shown


async def test_an_unknown_host_key_is_not_trusted_by_default() -> None:
    fingerprint = "SHA256:Zk1vV0a0hX8H5oNHTq5M7l5h8H4p1m1j5mWfZ0c1QyE"
    got, shown = await answer(HostKeyDialog("ct200", "ssh-ed25519", fingerprint, ["bastion"]), "enter")
    assert got is None
    assert fingerprint in shown
    assert "ssh-ed25519" in shown
    got, _ = await answer(HostKeyDialog("ct200", "ssh-ed25519", fingerprint), "right", "enter")
    assert got is True


async def test_a_secret_is_never_shown() -> None:
    app = StyledApp()
    got: list[str | None] = []
    async with app.run_test(size=(80, 20)) as pilot:
        app.push_screen(AskDialog("Token", [("stored on", "ct200")], str, secret=True), got.append)
        await pilot.press(*"hf_secret")
        await pilot.pause()
        assert "hf_secret" not in frame(app)
        assert "secret" not in frame(app)
        await pilot.press("enter")
    assert got == ["hf_secret"]


async def test_an_empty_answer_does_not_close_and_escape_answers_nothing() -> None:
    got, _ = await answer(AskDialog("Name", (), str, value="  "), "enter")
    assert got == "open"
    got, _ = await answer(AskDialog("Name", (), str, value="abc"), "escape")
    assert got is None
    got, _ = await answer(AskDialog("Name", (), str, value="abc"), "end", "d", "enter")
    assert got == "abcd"


def count(text: str) -> int:
    """A number, or a sentence."""
    if not text.strip().isdecimal():
        raise ValueError(f"{text.strip()} is [no] number.")
    return int(text)


@pytest.mark.parametrize("dialog", [AskDialog("Users", (), count), EditDialog("Users", (), count, "")])
async def test_what_cannot_be_taken_stays_to_be_corrected(dialog: Dialog[object]) -> None:
    app = StyledApp()
    got: list[object] = []
    yes = ("enter",) if isinstance(dialog, AskDialog) else ("tab", "tab", "enter")
    async with app.run_test(size=(80, 20)) as pilot:
        app.push_screen(dialog, got.append)
        await pilot.press(*"8x", *yes)
        await pilot.pause()
        assert "8x is [no] number." in frame(app)
        assert not got
        await pilot.press("backspace", *yes)
        await pilot.pause()
    assert got == [8]


async def test_a_name_is_completed_whatever_its_case() -> None:
    dialog = AskDialog("Recipe", (), str, names=["k26-tp8", "Qwen3-tp1"])
    got, _ = await answer(dialog, *"qw", "right", "enter")
    assert got == "Qwen3-tp1"
