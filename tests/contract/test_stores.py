"""Every registered store under the contract; a gap is a skip with its reason."""

from bakeoff import registry
from bakeoff.testing import StoreContract

GAPS = {
    "exact": {"reopen": "keeps the vectors it is given", "delete": "not offered", "keywords": "vectors only"},
    "faiss": {"delete": "HNSW cannot delete", "keywords": "vectors only"},
    "tantivy": {"vectors": "keywords only", "delete": "not offered"},
}

for name in registry.names("stores"):
    globals()[f"Test_{name}"] = type(
        f"Test_{name}", (StoreContract,), {"name": name, "gaps": GAPS.get(name, {})}
    )


class TestFaissFlat(StoreContract):
    name = "faiss"
    params = {"build": {"index": "flat"}}
    gaps = {"delete": "not offered", "keywords": "vectors only"}
    recall = 1.0


class TestFaissIvf(StoreContract):
    name = "faiss"
    params = {"build": {"index": "ivf", "lists": 4}}
    gaps = {"delete": "not offered", "keywords": "vectors only"}


def test_every_store_is_tested() -> None:
    assert {"exact", "faiss", "tantivy"} <= set(registry.names("stores"))
