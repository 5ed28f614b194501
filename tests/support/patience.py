"""How long a test waits for a state. Long, because a machine may be slow or busy; only a failure waits it out."""

from __future__ import annotations

PATIENCE_S = 60.0
