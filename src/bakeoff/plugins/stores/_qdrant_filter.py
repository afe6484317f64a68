"""A filter in Qdrant's words, which the edge shard and the server's client spell alike but for a few classes."""

from __future__ import annotations

from typing import Any, Protocol

from bakeoff.plugins.kit.payload import PayloadSchemaMixin, Term, terms
from bakeoff.types import Where


class FilterWords(Protocol):
    """How one of the two says a condition; `sum` joins conditions of which one must hold."""

    def among(self, field: str, values: list[Any]) -> Any:
        """A text or integer is one of some."""
        ...

    def between(self, field: str, least: float | None, most: float | None) -> Any:
        """A number lies within bounds, ends included."""
        ...

    def any(self, conditions: list[Any]) -> Any:
        """One of some conditions holds."""
        ...

    def all(self, conditions: list[Any]) -> Any:
        """Every condition holds."""
        ...


def filter_of(store: PayloadSchemaMixin, where: Where, words: FilterWords) -> Any:
    """A filter; numbers are compared by bounds, since only texts and integers can be matched."""
    return words.all([_condition(term, words) for term in terms(store.fields, where)])


def _condition(term: Term, words: FilterWords) -> Any:
    if term.sign != "in":
        value = term.values[0]
        return words.between(term.field, *((value, None) if term.sign == ">=" else (None, value)))
    if term.kind == "number":
        return words.any([words.between(term.field, value, value) for value in term.values])
    return words.among(term.field, list(term.values))
