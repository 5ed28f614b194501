"""What can be made to go wrong, while the Hub runs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Faults:
    """Switches of one fake Hub; all off by default.

    Each `…_left` counts down with every request that it hits. `paths` restricts the faults of the data origin
    and of `status` to requests whose path ends with one of them; empty means all.
    """

    status: int = 0
    status_left: int = 0
    status_headers: dict[str, str] = field(default_factory=dict)
    status_text: str = "try again later"
    paths: tuple[str, ...] = ()
    rate_bytes_s: float = 0.0
    cut_after_bytes: int = 0
    cut_left: int = 0
    ignore_range: bool = False
    corrupt: bool = False
    hang: bool = False
    no_sizes: bool = False
    no_commit_header: bool = False
    cas_status: int = 0
    delay_s: float = 0.0

    def hits(self, path: str) -> bool:
        """Whether the path is one that the faults are meant for."""
        return not self.paths or path.endswith(self.paths)
