"""The environment of a result: hardware, system and package versions."""

from __future__ import annotations

import functools
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bakeoff import registry

PACKAGES = (
    "numpy", "pyarrow", "duckdb", "scipy", "pydantic", "onnxruntime", "tokenizers", "wordllama", "faiss-cpu", "tantivy",
    "tree-sitter", "hnswlib", "usearch", "chromadb", "lancedb", "pymilvus", "milvus-lite", "qdrant-client",
    "qdrant-edge-py", "sqlite-vec", "duckdb-extension-vss", "psycopg", "elasticsearch", "opensearch-py",
    "redis", "weaviate-client",
)  # fmt: skip


def describe_machine() -> dict[str, str | int | float]:
    """The machine: processor, cores, memory in GiB, system, Python."""
    import psutil

    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def package_versions() -> dict[str, str]:
    """Installed versions of the packages that affect results, and of those that register plug-ins."""
    versions = {name: _installed_version(name) for name in (*PACKAGES, *registry.packages())}
    return {name: number for name, number in versions.items() if number is not None}


@functools.cache
def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
