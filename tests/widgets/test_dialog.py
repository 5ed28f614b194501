"""Dialogs: the default changes nothing, and what will be done stands there as text."""

import pytest

from tests.support.frames import StyledApp, frame
from widgets.dialog import AskDialog, ConfirmDialog, Dialog, HostKeyDialog

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
        app.push_screen(AskDialog("Token", [("stored on", "ct200")], secret=True), got.append)
        await pilot.press(*"hf_secret")
        await pilot.pause()
        assert "hf_secret" not in frame(app)
        assert "secret" not in frame(app)
        await pilot.press("enter")
    assert got == ["hf_secret"]


async def test_an_empty_answer_does_not_close_and_escape_answers_nothing() -> None:
    got, _ = await answer(AskDialog("Name", value="  "), "enter")
    assert got == "open"
    got, _ = await answer(AskDialog("Name", value="abc"), "escape")
    assert got is None
    got, _ = await answer(AskDialog("Name", value="abc"), "end", "d", "enter")
    assert got == "abcd"
