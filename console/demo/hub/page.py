"""A repository's page for a browser: what it is, and the button that asks for access."""

from __future__ import annotations

import html

from console.demo.hub.repos import Repo, User
from console.demo.hub.wire import Answer


def page(repo: Repo, users: list[User], *, accepting: bool) -> Answer:
    """`accepting` opens the gate for every user of this Hub: a browser here is nobody in particular."""
    if accepting:
        repo.standings.update({user.name: "accepted" for user in users})
    closed = [user.name for user in users if repo.gate and repo.standings.get(user.name) != "accepted"]
    words = f"Gated: not open for {', '.join(closed)}." if closed else "Open."
    button = '<form method="post"><button>Agree and access the repository</button></form>' if closed else ""
    title = html.escape(repo.id)
    text = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{html.escape(words)}</p>{button}"
    return Answer(200, {"Content-Type": "text/html; charset=utf-8"}, text.encode())
