"""How long a test waits. Long, because a machine may be slow or busy; only a failure waits it out."""

from __future__ import annotations

PATIENCE_S = 60.0  # for a state
COMMAND_S = 300.0  # for a command from its start to its end
