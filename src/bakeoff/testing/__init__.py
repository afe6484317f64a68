"""Contract suites for plug-in authors: inherit, name the plug-in, run pytest.

    from bakeoff.testing import StoreContract

    class TestMyStore(StoreContract):
        name = "mystore"

What a store cannot do it declares itself, with a reason, and the suite shows it as a skip:

    class MyStore:
        gaps = {"reopen": "keeps everything in memory"}

The checks of a store need no pytest (`bakeoff test store NAME` runs them), so names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bakeoff.testing.contracts import ChunkerContract, EmbedderContract, EncoderContract, PluginContract
    from bakeoff.testing.measures import MeasureContract
    from bakeoff.testing.readers import ReaderContract
    from bakeoff.testing.reference_search import exact, similarity
    from bakeoff.testing.rerankers import RerankerContract
    from bakeoff.testing.retrievers import RetrieverContract
    from bakeoff.testing.sources import RowSourceContract, SourceContract
    from bakeoff.testing.stores import StoreContract

_HOMES = {
    "ChunkerContract": "contracts",
    "EmbedderContract": "contracts",
    "EncoderContract": "contracts",
    "MeasureContract": "measures",
    "PluginContract": "contracts",
    "ReaderContract": "readers",
    "RerankerContract": "rerankers",
    "RetrieverContract": "retrievers",
    "RowSourceContract": "sources",
    "SourceContract": "sources",
    "StoreContract": "stores",
    "exact": "reference_search",
    "similarity": "reference_search",
}

__all__ = [
    "ChunkerContract",
    "EmbedderContract",
    "EncoderContract",
    "MeasureContract",
    "PluginContract",
    "ReaderContract",
    "RerankerContract",
    "RetrieverContract",
    "RowSourceContract",
    "SourceContract",
    "StoreContract",
    "exact",
    "similarity",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bakeoff.testing' has no attribute {name!r}")
    return getattr(import_module(f"bakeoff.testing.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
