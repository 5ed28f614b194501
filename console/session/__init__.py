"""The session: live or replayed, two implementations of one protocol. It lives outside the Textual app."""
