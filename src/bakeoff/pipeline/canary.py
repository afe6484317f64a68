"""Checks that a model is what it claims to be: its pooling, and its vectors of ten fixed texts, stored with every
run."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bakeoff.config.plan import PluginSpec
from bakeoff.errors import EmbedderError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.embed import vector_identity
from bakeoff.protocols import Embedder, SupportsDeclaredPooling
from bakeoff.storage.cache import Cache
from bakeoff.types import Role

if TYPE_CHECKING:
    import numpy as np

STAGE = "canary"
_FILE = "canary.json"
TEXTS = (
    "The invoice is issued on the first day of each month and paid by card.",
    "Mitochondria convert nutrients into the chemical energy of the cell.",
    "def merge(left, right): return sorted(left + right)",
    "SELECT customer_id, SUM(amount) FROM orders GROUP BY customer_id;",
    "How do I reset my password?",
    "Der Zug nach Hamburg fährt heute zwölf Minuten später ab.",
    "東京は日本の首都です。",
    "Le chat dort sur le canapé pendant que la pluie tombe.",
    "Error 404: the page was not found on this server.",
    "In 1969 two people walked on the Moon for the first time.",
)
"""Never edit these: vectors of other texts can't be compared with earlier runs."""
MIXED = "may mix old and new vectors"
"""Used in the note about a model that changed under the same name."""
SAME = 0.999
"""Vectors with a lower cosine count as different; other hardware or batch sizes change less than that."""
ALIKE = 0.9999
"""Vectors count as identical if every pair of texts has at least this cosine."""
POOLED_BY_GRAPH = "graph"
"""The pooling of a model whose graph returns one vector per text."""
OWN = 50
"""Number of the user's chunks to embed as a second check if the fixed texts all get the same vector."""


@dataclass(frozen=True, slots=True)
class Canary:
    """One embedder's vectors of the fixed texts; `identity` hashes everything that shapes its vectors."""

    embedder: str
    model: str
    identity: str
    vectors: np.ndarray

    def to_base64(self) -> str:
        """The vectors as text: 16-bit floats in base64."""
        import numpy as np

        return base64.b64encode(self.vectors.astype(np.float16).tobytes()).decode()


@dataclass(frozen=True, slots=True)
class RunCanary:
    """A model's canary in a run, with a note if the model returned other vectors before; None if it rejected
    the texts."""

    canary: Canary | None
    note: str = ""


def read_canary(embedder: str, model: str, identity: str, packed: str) -> Canary:
    """Read a canary from its stored fields."""
    import numpy as np

    flat = np.frombuffer(base64.b64decode(packed), np.float16).astype(np.float32)
    return Canary(embedder, model, identity, flat.reshape(len(TEXTS), -1))


def make_canary(part: PluginSpec, embedder: Embedder, own: Sequence[str] = ()) -> Canary | None:
    """Return a model's canary, or None if it rejects these texts.

    Identical vectors are an error only if the user's `own` texts get identical vectors too: a model with its
    own vocabulary may know no word of the fixed texts.
    """
    import numpy as np

    try:
        vectors = np.asarray(embedder.embed(list(TEXTS), Role.DOCUMENT), np.float32)
    except (EmbedderError, ValueError):
        return None  # problems are reported for the user's own texts
    info = embedder.info
    if vectors.shape != (len(TEXTS), info.dims) or not np.isfinite(vectors).all():
        return None
    if same_direction(vectors):
        _require_different(embedder, list(dict.fromkeys(own)))
    return Canary(part.label, info.name, vector_identity(part, embedder, Role.DOCUMENT), vectors)


def _require_different(embedder: Embedder, own: list[str]) -> None:
    """Raise if a model returns the same vector for all of the user's texts, or for the fixed ones if there
    are none."""
    import numpy as np

    if len(own) > 1 and not same_direction(np.asarray(embedder.embed(own, Role.DOCUMENT), np.float32)):
        return
    chunks = f" and for {len(own)} different chunks" if len(own) > 1 else ""
    pooling = embedder.info.pooling
    how = f" Its pooling is {pooling!r}: check that the model was trained that way." if pooling else ""
    raise EmbedderError(
        f"{embedder.info.name} gives the same vector for {len(TEXTS)} unrelated texts{chunks}, so search "
        f"results would be arbitrary.{how}"
    )


def same_direction(vectors: np.ndarray) -> bool:
    """Whether all vectors have the same direction; zero vectors have no direction."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1)
    if not lengths.all():
        return False
    unit = vectors / lengths[:, None]
    return bool((unit @ unit.T).min() > ALIKE)


def pooling_note(label: str, embedder: object) -> str:
    """A note if a model pools its token vectors in another way than its files or the catalogue declare, else ''."""
    if not isinstance(embedder, SupportsDeclaredPooling):
        return ""
    declared, used = embedder.declared_pooling(), cast(Embedder, embedder).info.pooling
    if not declared or used in (declared, POOLED_BY_GRAPH):
        return ""
    return (
        f"{label}: pooling is {used!r}, but the model was trained with {declared!r}, so its scores are not those of "
        f"this model. Remove `pooling` to use {declared!r}."
    )


def check_canary(cache: Cache, part: PluginSpec, canary: Canary) -> str:
    """Return a note if the model returned other vectors under this name before, else ''.

    The cached canary stays the reference while the model claims to be unchanged, since its cached vectors are
    reused.
    """
    key = fingerprint("canary", part.name, part.params.model_dump(mode="json"), canary.model)
    folder = cache.get(STAGE, key)
    before = _read(folder) if folder is not None else None
    changed = before is not None and _nearest(before, canary) < SAME
    if before is None or (changed and before.identity != canary.identity):
        cache.note(STAGE, key, lambda aside: _write(aside, canary))
    if not changed or before is None:
        return ""
    if before.identity != canary.identity:
        return f"{_difference(before, canary)} than in earlier runs: its files or settings changed under this name."
    return (
        f"{_difference(before, canary)} than when its vectors in the cache were made, and it claims to be the same "
        f"model, so this run {MIXED}. Clear the old ones: bakeoff cache clear --stage embed, then the same with "
        f"--stage vectors and --stage {STAGE}."
    )


def changed_models(before: Iterable[Canary], after: Sequence[Canary]) -> list[str]:
    """Return one sentence for each embedder whose vectors differ between two runs under the same name."""
    known = {(one.embedder, one.model): one for one in before}
    changes = []
    for one in after:
        earlier = known.get((one.embedder, one.model))
        if earlier is not None and _nearest(earlier, one) < SAME:
            changes.append(
                f"{_difference(earlier, one)} than in the earlier run, which may explain differences in scores."
            )
    return changes


def _difference(before: Canary, after: Canary) -> str:
    sizes = before.vectors.shape[1], after.vectors.shape[1]
    if sizes[0] != sizes[1]:
        return f"{after.embedder} ({after.model}) gives vectors of {sizes[1]} numbers instead of {sizes[0]}"
    cosine = _nearest(before, after)
    return (
        f"{after.embedder} ({after.model}) gives other vectors (cosine down to {cosine:.3f} on fixed texts)"
    )


def _nearest(before: Canary, after: Canary) -> float:
    """Lowest cosine between the two vectors of each text; −1 if their lengths differ."""
    import numpy as np

    one, other = before.vectors.astype(np.float64), after.vectors.astype(np.float64)
    if one.shape != other.shape:
        return -1.0
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosines = np.divide((one * other).sum(axis=1), lengths, out=np.ones(len(one)), where=lengths > 0)
    return float(cosines.min())


def _read(folder: Path) -> Canary:
    return read_canary(**json.loads((folder / _FILE).read_text(encoding="utf-8")))


def _write(folder: Path, canary: Canary) -> None:
    values = {"embedder": canary.embedder, "model": canary.model, "identity": canary.identity}
    (folder / _FILE).write_text(json.dumps({**values, "packed": canary.to_base64()}), encoding="utf-8")
