"""Sentences from templates: `{slot}` is a fact, `{3-9}` a drawn number, `[a|b]` a drawn wording."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{([^{}]+)\}")
_RANGE = re.compile(r"(\d+)-(\d+)")


class Draw:
    """A seeded source of choices; it uses `random()` alone, whose sequence Python promises to keep."""

    def __init__(self, key: str) -> None:
        self._random = random.Random(key)

    def number(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def pick(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return items[self.number(0, len(items) - 1)]

    def shuffle(self, items: Sequence[_Item]) -> list[_Item]:
        """All items in a drawn order."""
        keyed = [(self._random.random(), position) for position in range(len(items))]
        return [items[position] for _, position in sorted(keyed)]

    def some(self, items: Sequence[_Item], count: int) -> list[_Item]:
        """`count` different items in their own order."""
        chosen = self.shuffle(range(len(items)))[:count]
        return [items[position] for position in sorted(chosen)]

    def fill(self, template: str, facts: Mapping[str, str]) -> str:
        """The template as one sentence or two, every choice drawn and every slot filled."""
        text = template
        while _CHOICE.search(text):
            text = _CHOICE.sub(lambda found: self.pick(found[1].split("|")), text)
        return _SLOT.sub(lambda found: self._value(found[1], facts), text)

    def _value(self, slot: str, facts: Mapping[str, str]) -> str:
        bounds = _RANGE.fullmatch(slot)
        return f"{self.number(int(bounds[1]), int(bounds[2])):,}" if bounds else facts[slot]
