"""Windows of a fixed number of tokens, overlapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

from pydantic import Field, model_validator

from bakeoff.corpus.segmentation import VERSION, token_starts
from bakeoff.errors import MissingExtraError, ModelNotFoundError
from bakeoff.plugins import _tokenizers as tokenizers
from bakeoff.plugins._settings import Settings
from bakeoff.plugins.chunkers._pieces import trim
from bakeoff.types import Document, Piece

_BLOCK = 200_000  # characters tokenised at once, which bounds memory


class TokensChunker:
    """Splits by a tokenizer's count, so that no chunk exceeds what a model can read."""

    version: ClassVar[str] = f"2 with {VERSION}"

    class Params(Settings):
        """Parameters of the tokens chunker."""

        size: int = Field(256, ge=1, description="most tokens in a chunk")
        overlap: int = Field(32, ge=0, description="tokens of overlap with the next chunk")
        tokenizer: str = Field(
            "wordllama",
            description="tokenizer: 'wordllama', 'words' (as tokens@k counts), or the path of a tokenizer.json",
        )

        @model_validator(mode="after")
        def _smaller(self) -> TokensChunker.Params:
            if self.overlap >= self.size:
                raise ValueError(f"overlap {self.overlap} must be smaller than size {self.size}")
            return self

    def __init__(self, params: Params) -> None:
        self._params = params
        self._starts = token_starts if params.tokenizer == "words" else _starts_of(params.tokenizer)

    def chunk(self, document: Document) -> Iterator[Piece]:
        """Yield the document's windows in order."""
        text, size = document.text, self._params.size
        starts = self._starts(text)
        if not starts:
            starts = [0]
        starts[0] = 0
        for first in range(0, len(starts), size - self._params.overlap):
            last = first + size
            # a window extends to the next token's start, so that characters without a token are kept
            if span := trim(text, starts[first], starts[last] if last < len(starts) else len(text)):
                yield Piece(*span)
            if last >= len(starts):
                return


def _starts_of(name: str) -> Callable[[str], list[int]]:
    """A function that returns the first character of every token, in order."""
    tokenizer = tokenizers.shared_tokenizer(_path(name))

    def starts(text: str) -> list[int]:
        found: list[int] = []
        for base, block in _blocks(text):
            offsets = tokenizer.encode(block, add_special_tokens=False).offsets
            found += (base + start for start, _ in offsets)
        return list(accumulate(found, max))

    return starts


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text in blocks that end at a space if there is one nearby."""
    base = 0
    while base < len(text):
        end = base + _BLOCK
        if end < len(text):
            blank = max(text.rfind("\n", base + 1, end), text.rfind(" ", base + 1, end))
            end = blank if blank > base else end
        yield base, text[base:end]
        base = end


def _path(name: str) -> Path:
    if name != "wordllama":
        return Path(name)
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(
            "tokenizer 'wordllama' is not installed: pip install 'bakeoff[wordllama]' or set tokenizer: words"
        )
    found = sorted(Path(spec.submodule_search_locations[0], "tokenizers").glob("*.json"))
    if not found:
        raise ModelNotFoundError("the installed wordllama has no tokenizer file: install it again")
    return found[0]
