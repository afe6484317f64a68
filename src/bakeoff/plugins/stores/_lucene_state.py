"""What an index of Elasticsearch or OpenSearch is like by its own word: nodes, copies of shards, merged segments."""

from __future__ import annotations

from typing import Any

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.rest import encode_json, wait, words
from bakeoff.plugins.kit.server import ShardSettings, expect_spread

MERGE_SECONDS = 3600.0
TAKING_PART = 120.0
"""Seconds until every copy of a shard answers, after a start too."""


def expect_nodes(engine: str, api: Any, spread: ShardSettings) -> None:
    """There is a node for every copy of a shard; the engine would take the others and leave them out."""
    if not spread.replicas:
        return
    nodes = api.cluster.health()["number_of_data_nodes"]
    if nodes <= spread.replicas:
        raise StoreError(
            f"{engine} has {nodes} data nodes; {spread.replicas} replicas need {spread.replicas + 1}. Use fewer "
            "replicas, or a larger cluster."
        )


def expect_copies(engine: str, api: Any, index: str, spread: ShardSettings) -> None:
    """The index has the shards and replicas that were asked for, and each copy is on a node and takes part."""
    kept = api.indices.get_settings(index=index, flat_settings=True)[index]["settings"]
    shards, replicas = int(kept["index.number_of_shards"]), int(kept["index.number_of_replicas"])
    expect_spread(engine, (shards, replicas), spread)
    copies = shards * (1 + replicas)
    active = lambda: bool(api.cluster.health(index=index)["active_shards"] >= copies)  # noqa: E731
    wait(engine, f"all {copies} copies of its shards take part", active, TAKING_PART, pause=0.1)


def merge(engine: str, api: Any, index: str, wanted: int, not_found: type[Exception]) -> None:
    """Merge as a task that is asked after: one request of an hour would hide that the server is gone."""
    task = api.indices.forcemerge(index=index, max_num_segments=wanted, wait_for_completion=False)["task"]

    def merged() -> bool:
        try:
            told = api.tasks.get(task_id=task)
        except not_found:  # it ended, and the engine could not write down how; segments are counted next
            return True
        if told.get("error") or told.get("response", {}).get("_shards", {}).get("failed"):
            raise StoreError(f"{engine} did not merge: {words(encode_json(told))}")
        return bool(told["completed"])

    wait(engine, "its segments are merged", merged, MERGE_SECONDS, pause=0.02)


def segments(api: Any, index: str) -> int:
    """The most searchable segments that a copy of a shard has."""
    shards = api.indices.segments(index=index)["indices"][index]["shards"]
    copies = [copy["segments"].values() for shard in shards.values() for copy in shard]
    return max(sum(one["search"] for one in parts) for parts in copies)
