"""The documents of one Vespa collection: written one a request and several at once, counted, found, removed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import make_hits
from bakeoff.plugins.kit.rest import Rest, encode_json, words
from bakeoff.types import Batch, Hits, PayloadField

LINES = 16  # requests under way at once
CLEAR_SECONDS = 600.0


class VespaRows:
    """The documents of a schema named after the collection."""

    def __init__(self, rest: Rest, collection: str) -> None:
        self._rest, self.name = rest, f"c_{collection}"
        self._path = f"/document/v1/bakeoff/{self.name}/docid"

    def put(self, batch: Batch, columns: dict[str, PayloadField]) -> None:
        """Write documents, new ones or in the place of those with their ids; the first refusal is raised."""
        with ThreadPoolExecutor(LINES) as lines:
            list(lines.map(lambda i: self._put(batch, i, columns), range(len(batch.ids))))

    def _put(self, batch: Batch, i: int, columns: dict[str, PayloadField]) -> None:
        number = int(batch.ids[i])
        fields: dict[str, Any] = {"number": number}
        if batch.vectors is not None:
            fields["vector"] = {"values": np.ascontiguousarray(batch.vectors[i], np.float32)}
        if batch.texts is not None:
            fields["text"] = batch.texts[i]
        if batch.payloads is not None:
            fields |= {column: batch.payloads[i][field.name] for column, field in columns.items()}
        self._rest("POST", f"{self._path}/{number}", {"fields": fields})

    def kept(self, number: int) -> dict[str, Any]:
        """The fields of one document."""
        found: dict[str, Any] = self._rest("GET", f"{self._path}/{number}")["fields"]
        return found

    def delete(self, ids: np.ndarray) -> None:
        """Remove documents."""
        for number in ids.tolist():
            self._rest("DELETE", f"{self._path}/{number}")

    def clear(self) -> None:
        """Remove every document."""
        self._rest("DELETE", f"{self._path}?selection=true&cluster=rows", seconds=CLEAR_SECONDS)

    def served(self) -> bool:
        """Whether the container answers for this collection yet."""
        try:
            self.count()
        except StoreError:
            return False
        return True

    def count(self) -> int:
        """How many documents there are."""
        return int(self._ask("true", 0, {})["fields"]["totalCount"])

    def found(self, condition: str, k: int, asked: dict[str, Any]) -> Hits:
        """The k best documents for which a condition holds."""
        rows = self._ask(condition, k, {"presentation.summary": "ids", **asked}).get("children", [])
        return make_hits([row["fields"]["number"] for row in rows], [row["relevance"] for row in rows])

    def _ask(self, condition: str, k: int, asked: dict[str, Any]) -> dict[str, Any]:
        yql = f"select number from {self.name} where {condition}"  # noqa: S608 - values in it are literals
        root: dict[str, Any] = self._rest(
            "POST", "/search/", {"yql": yql, "hits": k, "timeout": "60s", **asked}
        )["root"]
        if root.get("errors"):
            raise StoreError(f"Vespa: {words(encode_json(root['errors']))}")
        return root
