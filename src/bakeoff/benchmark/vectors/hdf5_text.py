"""The text attribute of an HDF5 file, read in a process with limits: damage can make the library loop forever."""

from __future__ import annotations

from collections.abc import Callable

from bakeoff.corpus.limited_process import limit_cpu, limit_memory, serve

MEMORY_MB = 1000


def _open_service(_: object) -> Callable[[tuple[str, float]], str]:
    import h5py  # type: ignore[import-untyped,import-not-found,unused-ignore]

    limit_memory(MEMORY_MB)

    def read_distance(message: tuple[str, float]) -> str:
        path, seconds = message
        limit_cpu(seconds)
        with h5py.File(path, "r") as file:
            distance = file.attrs["distance"]
        return distance.decode("utf-8", "replace") if isinstance(distance, bytes) else str(distance)

    return read_distance


if __name__ == "__main__":
    serve(_open_service)
