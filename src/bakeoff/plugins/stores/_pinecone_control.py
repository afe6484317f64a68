"""The indexes of a Pinecone project: made, listed and removed at its control plane."""

from __future__ import annotations

from typing import Any

from bakeoff.plugins.kit.rest import Rest, wait
from bakeoff.plugins.kit.server import own_collections

DEADLINE_S = 600
PREFIX = "bakeoff-"
NAME = 45  # characters an index's name may have: a collection's name is cut to fit


def path(collection: str) -> str:
    """Where an index is described."""
    return "/indexes/" + f"{PREFIX}{collection}".lower().replace("_", "-")[:NAME].rstrip("-")


def create_index(rest: Rest, collection: str, shape: dict[str, Any]) -> str:
    """Make an index, wait until it is ready, and return its host."""
    at = path(collection)
    rest("POST", "/indexes", {"name": at.rsplit("/", 1)[1], **shape, "deletion_protection": "disabled"})
    wait("Pinecone", "the new index is ready", lambda: bool(rest("GET", at)["status"]["ready"]), DEADLINE_S)
    return str(rest("GET", at)["host"])


def delete_index(rest: Rest, collection: str) -> None:
    """Remove an index that may be there, and wait until it is gone."""
    at = path(collection)
    rest("DELETE", at, absent=True)
    wait("Pinecone", "the old index is gone", lambda: rest("GET", at, absent=True) is None, DEADLINE_S)


def collections(rest: Rest) -> list[str]:
    """What was made there, by the names that were given, cut where they were too long."""
    return own_collections((one["name"] for one in rest("GET", "/indexes")["indexes"]), PREFIX)
