"""Themes: every ink exists and can be read; the environment decides about colour as no-color.org says."""

import re

import pytest
from textual.color import Color

from tests.support.frames import TCSS, StyledApp
from tests.support.gallery import Gallery
from widgets.painted import ink_style
from widgets.stylesheet import LazyStylesheet
from widgets.themes import ANSI, CONTRAST, DARK, LIGHT, THEMES, apply_no_color, theme_for

INKS = sorted(set(re.findall(r"\.ink--([\w-]+)", TCSS.read_text())))
TEXT_INKS = ["ok", "warn", "fail", "unknown", "busy", "dim", "label", "strong", "key", "head", "axis", "link"]


def luminance(color: Color) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [part / 255 for part in color.rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", [DARK, LIGHT, CONTRAST])
async def test_text_can_be_read_on_its_ground(name: str) -> None:
    app = StyledApp(theme=name)
    async with app.run_test():
        theme = app.current_theme
        ground = Color.parse(theme.variables["ground"])
        least = 7.0 if name == CONTRAST else 4.5
        for ink in TEXT_INKS:
            color = ink_style(app, ink).color
            assert color is not None
            assert contrast(Color.from_rich_color(color), ground) >= least, ink
        assert contrast(Color.parse(str(theme.foreground)), ground) >= 7
        for variable in ("cursor", "match"):
            text = theme.variables["match-text"] if variable == "match" else str(theme.foreground)
            assert contrast(Color.parse(text), Color.parse(theme.variables[variable])) >= 4.5


@pytest.mark.parametrize("name", [theme.name for theme in THEMES])
async def test_every_theme_paints_and_a_change_of_theme_reaches_what_is_shown(name: str) -> None:
    app = Gallery(theme=DARK)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        before = ink_style(app, "fail").color
        app.theme = name
        await pilot.pause()
        after = ink_style(app, "fail").color
        assert (before == after) == (name == DARK)
        strips = app.screen._compositor.render_strips()
        assert any(segment.style and segment.style.color == after for strip in strips for segment in strip)


def test_rules_are_parsed_again_for_other_variables_alone() -> None:
    sheet = LazyStylesheet(variables={"ink": "red"})
    sheet.add_source("Label { color: $ink; }")
    first = sheet.rules
    sheet.set_variables({"ink": "red"})
    sheet.reparse()
    assert sheet.rules is first
    sheet.set_variables({"ink": "blue"})
    sheet.reparse()
    assert [rule.styles.color for rule in sheet.rules] == [Color.parse("blue")]
    sheet.add_source("Button { color: $ink; }")
    assert len(sheet.rules) == 2


def test_all_themes_have_the_same_variables() -> None:
    names = set(THEMES[0].variables)
    assert all(names <= set(theme.variables) for theme in THEMES)


async def test_states_differ_without_their_colour() -> None:
    app = StyledApp(theme=ANSI)
    async with app.run_test():
        assert ink_style(app, "fail").bold
        assert ink_style(app, "warn").bold
        assert ink_style(app, "unknown").italic
        assert ink_style(app, "cursor").reverse
        assert {ink for ink in INKS if ink_style(app, ink)} >= set(TEXT_INKS)


async def test_the_colour_blind_theme_has_no_red_against_green() -> None:
    app = StyledApp(theme=CONTRAST)
    async with app.run_test():
        ok, fail = (Color.from_rich_color(ink_style(app, ink).color) for ink in ("ok", "fail"))  # type: ignore[arg-type]
        assert ok.b > ok.r
        assert fail.r > fail.b
        assert abs(luminance(ok) - luminance(fail)) > 0.1


@pytest.mark.parametrize(
    ("env", "kept", "answer"),
    [
        ({}, {}, False),
        ({"NO_COLOR": ""}, {}, False),
        ({"NO_COLOR": "1"}, {"NO_COLOR": "1"}, True),
        ({"NO_COLOR": "0"}, {"NO_COLOR": "0"}, True),
    ],
)
def test_no_color_counts_only_when_it_is_not_empty(env: dict[str, str], kept: dict[str, str], answer: bool) -> None:
    assert apply_no_color(env) is answer
    assert env == kept


@pytest.mark.parametrize(
    ("env", "wanted", "theme"),
    [
        ({"TERM": "xterm-256color"}, "", DARK),
        ({"TERM": "xterm-256color"}, LIGHT, LIGHT),
        ({"TERM": "xterm-16color"}, "", ANSI),
        ({"TERM": "linux"}, "", ANSI),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "", DARK),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, LIGHT, ANSI),
    ],
)
def test_the_theme_for_the_terminal(env: dict[str, str], wanted: str, theme: str) -> None:
    assert theme_for(env, wanted) == theme
