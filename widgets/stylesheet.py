"""Rules that are parsed again only when a variable changed.

Textual asks for all of them anew, twice, whenever a screen is shown for the first time: most of what that costs.
"""

from __future__ import annotations

from textual.css.stylesheet import Stylesheet


class LazyStylesheet(Stylesheet):
    """As Textual's; what a new widget brings is parsed in any case."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._given = dict(variables or {})
        self._changed = False

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._given:
            self._given, self._changed = dict(variables), True
            super().set_variables(variables)

    def reparse(self) -> None:
        if self._changed:
            super().reparse()
            self._changed = False
