"""The contract of a store, check by check."""

from __future__ import annotations

from bakeoff.testing.store_checks import (
    conduct,
    declared,
    encoded,
    lifecycle,
    payload,
    search,
    storage,
    words,
)
from bakeoff.testing.store_fixture import ContractCheck

CHECKS: tuple[ContractCheck, ...] = (
    *declared.suite,
    *search.suite,
    *lifecycle.suite,
    *conduct.suite,
    *payload.suite,
    *words.suite,
    *encoded.suite,
    *storage.suite,
)
