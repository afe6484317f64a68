"""Problems of a truth, collected so that all are reported at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding about a query's truth; the message says where, what, and what to do."""

    level: Level
    query_id: str
    message: str
    code: str = "truth"
