"""The keys of a row cache's inputs as one array: 32 bytes for each, where a Python string and its entry take 200."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from bakeoff.errors import CacheError

if TYPE_CHECKING:
    import numpy as np

WIDTH = 32
"""Characters of a key: those of a fingerprint."""
BLOCK = 65_536


class InputKeys:
    """The keys of all inputs, in order; one that occurs twice is one input."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @classmethod
    def collect(cls, keys: InputKeys | Iterable[str]) -> InputKeys:
        """Keys from strings, some thousands at a time."""
        import numpy as np

        if isinstance(keys, InputKeys):
            return keys
        blocks = [_pack(block) for block in _blocks(iter(keys))]
        return cls(np.concatenate(blocks) if blocks else np.empty(0, f"S{WIDTH}"))

    def __len__(self) -> int:
        return len(self.array)

    def names(self, positions: Sequence[int] | np.ndarray) -> list[str]:
        """The keys at these positions as strings."""
        return [key.decode() for key in self.array[positions].tolist()]

    @cached_property
    def distinct(self) -> np.ndarray:
        """The first position of each key, ascending."""
        import numpy as np

        return np.sort(KeyIndex(self.array).first)


class KeyIndex:
    """Finds keys in an array: a sorted copy and the place of each, instead of a dict."""

    def __init__(self, keys: np.ndarray) -> None:
        import numpy as np

        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        fresh = np.ones(len(order), bool)
        fresh[1:] = self._keys[1:] != self._keys[:-1]
        self.first = order
        if not fresh.all():
            self._keys, self.first = self._keys[fresh], order[fresh]

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The first place of each wanted key; −1 where it is not there."""
        import numpy as np

        if not len(self._keys):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self.first[place], -1)


def _blocks(keys: Iterator[str]) -> Iterator[list[str]]:
    while block := list(islice(keys, BLOCK)):
        yield block


def _pack(keys: list[str]) -> np.ndarray:
    import numpy as np

    if (longest := max(keys, key=len)) and len(longest) > WIDTH:
        raise CacheError(f"the key {longest!r} has more than {WIDTH} characters. Use a fingerprint.")
    return np.array(keys, f"S{WIDTH}")
