"""Modules imported on first use: small inputs are scored in plain Python, faster than importing numpy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from bakeoff.measures import kernels, ties
else:

    class _LazyModule:
        """A module that is imported when one of its names is first used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> object:
            found = getattr(import_module(self._name), attribute)
            setattr(self, attribute, found)  # the next access bypasses this method
            return found

    np = _LazyModule("numpy")
    kernels = _LazyModule("bakeoff.measures.kernels")
    ties = _LazyModule("bakeoff.measures.ties")

__all__ = ["kernels", "np", "ties"]
