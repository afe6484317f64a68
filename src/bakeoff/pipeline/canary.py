"""Vectors of ten fixed texts, kept with every run: a model that changed under its name is found by them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config.plan import PluginSpec
from bakeoff.errors import EmbedderError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.embed import vector_identity
from bakeoff.protocols import Embedder
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
"""Never changed: vectors of other texts could not be compared with those of earlier runs."""
MIXED = "may mix old and new vectors"
"""In the note of a model that changed under its name."""
SAME = 0.999
"""The lowest cosine that counts as the same vector; another machine or batch changes less."""
ALIKE = 0.9999
"""If every pair of the texts is nearer than this, the vectors are all alike."""
OWN = 50
"""How many of the user's chunks are embedded as well if the vectors of the fixed texts are all alike."""


@dataclass(frozen=True, slots=True)
class Canary:
    """The vectors of the fixed texts by one embedder; `identity` names everything that shapes its vectors."""

    embedder: str
    model: str
    identity: str
    vectors: np.ndarray

    def packed(self) -> str:
        """The vectors as text: 16-bit floats in base64."""
        import numpy as np

        return base64.b64encode(self.vectors.astype(np.float16).tobytes()).decode()


@dataclass(frozen=True, slots=True)
class RunCanary:
    """A model's canary in a run, None where it refused the texts, and a note where it gave other vectors before."""

    canary: Canary | None
    note: str = ""


def read_canary(embedder: str, model: str, identity: str, packed: str) -> Canary:
    """A canary from its parts in a file."""
    import numpy as np

    flat = np.frombuffer(base64.b64decode(packed), np.float16).astype(np.float32)
    return Canary(embedder, model, identity, flat.reshape(len(TEXTS), -1))


def make_canary(part: PluginSpec, embedder: Embedder, own: Sequence[str] = ()) -> Canary | None:
    """The canary of a model; None where it refuses these texts.

    Vectors that are all alike are an error if those of the user's `own` texts are alike too: a model with a vocabulary
    of its own may know no word of the fixed texts.
    """
    import numpy as np

    try:
        vectors = np.asarray(embedder.embed(list(TEXTS), Role.DOCUMENT), np.float32)
    except (EmbedderError, ValueError):
        return None  # what is wrong with it is reported for the user's own texts
    info = embedder.info
    if vectors.shape != (len(TEXTS), info.dims) or not np.isfinite(vectors).all():
        return None
    if _alike(vectors):
        _require_different(embedder, list(dict.fromkeys(own)))
    return Canary(part.label, info.name, vector_identity(part, embedder, Role.DOCUMENT), vectors)


def _require_different(embedder: Embedder, own: list[str]) -> None:
    """Refuse a model that gives the same vector for the user's texts, or for the fixed ones if there are no others."""
    import numpy as np

    if len(own) > 1 and not _alike(np.asarray(embedder.embed(own, Role.DOCUMENT), np.float32)):
        return
    chunks = f" and for {len(own)} different chunks" if len(own) > 1 else ""
    pooling = embedder.info.pooling
    how = f" It is pooled by {pooling!r}: is that how the model was trained?" if pooling else ""
    raise EmbedderError(
        f"{embedder.info.name} gives the same vector for {len(TEXTS)} unrelated texts{chunks}, so no search can rank "
        f"by it.{how}"
    )


def _alike(vectors: np.ndarray) -> bool:
    """Whether all vectors have the same direction; zero vectors have none."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1)
    if not lengths.all():
        return False
    unit = vectors / lengths[:, None]
    return bool((unit @ unit.T).min() > ALIKE)


def check_canary(cache: Cache, part: PluginSpec, canary: Canary) -> str:
    """A note where the model gave other vectors under this name before, else ''.

    What the cache holds stays the reference while the model claims to be the same one, since its vectors are reused.
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
    """One sentence for each embedder of two runs that gives other vectors under the same name."""
    known = {(one.embedder, one.model): one for one in before}
    found = []
    for one in after:
        earlier = known.get((one.embedder, one.model))
        if earlier is not None and _nearest(earlier, one) < SAME:
            found.append(
                f"{_difference(earlier, one)} than in the earlier run: a difference of scores may come from that."
            )
    return found


def _difference(before: Canary, after: Canary) -> str:
    sizes = before.vectors.shape[1], after.vectors.shape[1]
    if sizes[0] != sizes[1]:
        return f"{after.embedder} ({after.model}) gives vectors of {sizes[1]} numbers instead of {sizes[0]}"
    cosine = _nearest(before, after)
    return (
        f"{after.embedder} ({after.model}) gives other vectors (cosine down to {cosine:.3f} on fixed texts)"
    )


def _nearest(before: Canary, after: Canary) -> float:
    """The lowest cosine between the two vectors of a text; −1 where their lengths differ."""
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
    (folder / _FILE).write_text(json.dumps({**values, "packed": canary.packed()}), encoding="utf-8")
