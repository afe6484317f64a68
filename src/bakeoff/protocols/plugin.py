"""What every plug-in has."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from pydantic import BaseModel


class Plugin(Protocol):
    """Base of all kinds: a code version for the cache key, and parameters for YAML validation and help."""

    version: ClassVar[str]
    Params: ClassVar[type[BaseModel]]
