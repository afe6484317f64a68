"""What an index of Elasticsearch or OpenSearch is like by its own word: nodes, copies of shards, merged segments."""

from __future__ import annotations

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._rest import Rest, packed, wait, words
from bakeoff.plugins.stores._server import Spread, expect_spread

MERGE_SECONDS = 3600.0
TAKING_PART = 120.0
"""Seconds until every copy of a shard answers, after a start too."""


def expect_nodes(engine: str, rest: Rest, spread: Spread) -> None:
    """There is a node for every copy of a shard; the engine would take the others and leave them out."""
    if not spread.replicas:
        return
    nodes = rest("GET", "/_cluster/health")["number_of_data_nodes"]
    if nodes <= spread.replicas:
        raise StoreError(
            f"{engine} has {nodes} data nodes; {spread.replicas} replicas need {spread.replicas + 1}. Use fewer "
            "replicas, or a larger cluster."
        )


def expect_copies(engine: str, rest: Rest, index: str, spread: Spread) -> None:
    """The index has the shards and replicas that were asked for, and each copy is on a node and takes part."""
    kept = rest("GET", f"/{index}/_settings?flat_settings=true")[index]["settings"]
    shards, replicas = int(kept["index.number_of_shards"]), int(kept["index.number_of_replicas"])
    expect_spread(engine, (shards, replicas), spread)
    copies, health = shards * (1 + replicas), f"/_cluster/health/{index}"
    active = lambda: bool(rest("GET", health)["active_shards"] >= copies)  # noqa: E731
    wait(engine, f"all {copies} copies of its shards take part", active, TAKING_PART, pause=0.1)


def merge(engine: str, rest: Rest, index: str, wanted: int) -> None:
    """Merge as a task that is asked after: one request of an hour would hide that the server is gone."""
    how = f"max_num_segments={wanted}&wait_for_completion=false"
    task = rest("POST", f"/{index}/_forcemerge?{how}")["task"]

    def merged() -> bool:
        told = rest("GET", f"/_tasks/{task}", absent=True)
        if told is None:  # it ended, and the engine could not write down how; segments are counted next
            return True
        if told.get("error") or told.get("response", {}).get("_shards", {}).get("failed"):
            raise StoreError(f"{engine} did not merge: {words(packed(told))}")
        return bool(told["completed"])

    wait(engine, "its segments are merged", merged, MERGE_SECONDS, pause=0.02)


def segments(rest: Rest, index: str) -> int:
    """The most searchable segments that a copy of a shard has."""
    shards = rest("GET", f"/{index}/_segments")["indices"][index]["shards"]
    copies = [copy["segments"].values() for shard in shards.values() for copy in shard]
    return max(sum(one["search"] for one in parts) for parts in copies)
