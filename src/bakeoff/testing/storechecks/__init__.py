"""The contract of a store, check by check."""

from __future__ import annotations

from bakeoff.testing.bench import Check
from bakeoff.testing.storechecks import conduct, declared, lifecycle, payload, search, words

CHECKS: tuple[Check, ...] = (
    *declared.suite,
    *search.suite,
    *lifecycle.suite,
    *conduct.suite,
    *payload.suite,
    *words.suite,
)
