"""The base of all painted widgets: line API, inks resolved from `console.tcss`, only changed lines refreshed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.app import App
from textual.dom import DOMNode
from textual.geometry import Region, Size, Spacing
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from widgets.cells import Span
from widgets.glyphs import ASCII, ASCII_CLASS, UNICODE, Glyphs
from widgets.kept import Kept

NOTHING_AROUND = Spacing.all(0)
_INKS: WeakKeyDictionary[App[object], dict[str, Style]] = WeakKeyDictionary()


def ink_style(app: App[object], ink: str) -> Style:
    """The look of an ink (`ok`, or several: `dim strong`) in the current theme: rules `.ink--<name>`.

    Resolved once a theme and app through a virtual node. Component classes would say the same, but Textual
    resolves all of them again for every widget at every change of focus.
    """
    styles = _INKS.setdefault(app, {})
    style = styles.get(ink)
    if style is None:
        node = DOMNode(classes=" ".join(f"ink--{name}" for name in ink.split()))
        node._attach(app)
        app.stylesheet.apply(node, animate=False)
        style = styles[ink] = node.styles.partial_rich_style
    return style


class Painted(Kept, ScrollView):
    """A widget that paints spans by line. Subclasses implement `paint_line(y) -> spans` and `line_count`."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styles_cache = BareLines(self)
        self._styles_by_ink: dict[str, Style] = {}

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _: Theme) -> None:
        _INKS.pop(self.app, None)
        self.notify_style_update()
        self.refresh()

    def notify_style_update(self) -> None:
        """Textual calls this when a style of the widget changed."""
        super().notify_style_update()
        self._styles_by_ink.clear()

    @property
    def glyphs(self) -> Glyphs:
        """The glyph set in force."""
        return ASCII if self.app.has_class(ASCII_CLASS) else UNICODE

    def ink(self, ink: str) -> Style:
        """The whole style of an ink on this widget's own background."""
        style = self._styles_by_ink.get(ink)
        if style is None:
            base = self.rich_style
            style = self._styles_by_ink[ink] = base + ink_style(self.app, ink) if ink else base
        return style

    def strip(self, spans: Iterable[Span], width: int, under: str = "") -> Strip:
        """The spans as a strip of `width` cells; `under` is an ink that shines through (a cursor, a row)."""
        if under:
            over = self._over(under)
            segments = [Segment(text, self.ink(ink) + over) for text, ink in spans if text]
            return Strip(segments).adjust_cell_length(width, self.ink(under))
        segments = [Segment(text, self.ink(ink)) for text, ink in spans if text]
        return Strip(segments).adjust_cell_length(width, self.ink(""))

    def _over(self, under: str) -> Style:
        return ink_style(self.app, under)

    def set_line_count(self, count: int) -> None:
        """Tell Textual the height of the content; only a change costs a layout."""
        if self.virtual_size.height != count:
            self.virtual_size = Size(0, count)
            self.refresh(layout=True)

    def jump(self, y: float) -> None:
        """Scroll to a line at once; Textual clamps it and calls the watchers."""
        self.scroll_target_y = self.scroll_y = y

    def refresh_changed(self, old: Sequence[object], new: Sequence[object], offset: int = 0) -> None:
        """Refresh the lines at which the two differ; `offset` is the number of lines above the first."""
        for y in range(max(len(old), len(new))):
            if y >= len(old) or y >= len(new) or old[y] != new[y]:
                self.refresh_line(y + offset)


class BareLines(StylesCache):
    """Lines of a widget that paints its lines whole. What Textual works out for every line (borders, padding,
    blending) changes nothing without a style for it, and costs more than most lines themselves.
    """

    def __init__(self, painted: Painted) -> None:
        super().__init__()
        self._painted = painted

    def render_widget(self, widget: Widget, crop: Region) -> list[Strip]:
        """The lines of this part, painted anew where Textual knows them to be out of date."""
        styles, width = widget.styles, widget.outer_size.width
        if styles.gutter != NOTHING_AROUND or styles.text_opacity != 1 or widget.opacity != 1 or styles.tint.a:
            return super().render_widget(widget, crop)
        if width != self._width:
            self.clear()
            self._width = width
        wanted = crop.line_range
        for y in wanted:
            if y in self._dirty_lines or y not in self._cache:
                self._cache[y] = _line(self._painted, y, width)
        self._dirty_lines.difference_update(wanted)
        strips = [self._cache[y] for y in wanted]
        return strips if crop.column_span == (0, width) else [strip.crop(*crop.column_span) for strip in strips]


def _line(widget: Painted, y: int, width: int) -> Strip:
    strip = widget.render_line(y)
    if strip.cell_length != width:
        strip = strip.adjust_cell_length(width, widget.ink(""))
    if filters := widget.get_line_filters():
        _, background = widget.background_colors
        for wanted in filters:
            strip = strip.apply_filter(wanted, background)
    return strip
