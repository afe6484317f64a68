"""The rows of one Pinecone index, at the host it was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.plugins.kit.rest import Rest
from bakeoff.types import Batch, PayloadField

PART = 100  # rows a request: at most 1,000 and 2 MB are taken


class PineconeIndex:
    """The data plane of an index."""

    def __init__(self, host: str, headers: dict[str, str]) -> None:
        self._rest = Rest("Pinecone", host if "://" in host else f"https://{host}", headers)

    def put(self, batch: Batch, columns: dict[str, PayloadField]) -> None:
        """Write rows."""
        assert batch.vectors is not None
        vectors = np.ascontiguousarray(batch.vectors, np.float32)
        rows: list[dict[str, Any]] = [
            {"id": str(number), "values": vectors[i]} for i, number in enumerate(batch.ids.tolist())
        ]
        for row, payload in zip(rows, batch.payloads or (), strict=False):
            row["metadata"] = {column: payload[field.name] for column, field in columns.items()}
        for begin in range(0, len(rows), PART):
            self._rest("POST", "/vectors/upsert", {"vectors": rows[begin : begin + PART]})

    def count(self) -> int:
        """How many rows are counted by now."""
        return int(self._rest("POST", "/describe_index_stats", {})["totalVectorCount"])

    def near(self, vector: np.ndarray, k: int, option: dict[str, Any]) -> tuple[list[int], np.ndarray]:
        """The nearest rows: ids and the engine's scores."""
        asked = {"vector": np.ascontiguousarray(vector, np.float32), "topK": k, **option}
        rows = self._rest("POST", "/query", asked)["matches"]
        return [int(row["id"]) for row in rows], np.array([row["score"] for row in rows], np.float64)

    def kept(self, ids: np.ndarray) -> dict[int, dict[str, Any]]:
        """What belongs to rows, by id; ids that are not there are left out."""
        found: dict[int, dict[str, Any]] = {}
        for begin in range(0, len(ids), PART):
            asked = "&".join(f"ids={number}" for number in ids[begin : begin + PART].tolist())
            rows = self._rest("GET", f"/vectors/fetch?{asked}")["vectors"]
            found |= {int(name): row.get("metadata", {}) for name, row in rows.items()}
        return found

    def delete(self, ids: np.ndarray) -> None:
        """Remove rows."""
        for begin in range(0, len(ids), PART):
            gone = [str(number) for number in ids[begin : begin + PART].tolist()]
            self._rest("POST", "/vectors/delete", {"ids": gone})

    def close(self) -> None:
        """Give back the connections."""
        self._rest.close()
