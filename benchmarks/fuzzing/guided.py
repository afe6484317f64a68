"""One parser under libFuzzer: files that reach new code are kept and changed further (pip install atheris).

Run with: python benchmarks/fuzzing/guided.py tests/fuzz/test_parsers.py queries 20
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import atheris


def main() -> None:
    """Fuzz the named reader of a test file for so many seconds, beginning with its valid file."""
    file, kind, seconds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    with atheris.instrument_imports(include=["bakeoff"]):
        from bakeoff.errors import BakeoffError

        name, read, valid = _loaded(file).READERS[kind]
    folder = Path(tempfile.mkdtemp(prefix="bakeoff-guided-"))
    seeds, path = folder / "seeds", folder / "work" / name
    seeds.mkdir()
    path.parent.mkdir(parents=True)
    (seeds / "valid").write_bytes(valid() if callable(valid) else valid)

    def one(data: bytes) -> None:
        path.write_bytes(data)
        with contextlib.suppress(BakeoffError):
            read(path)

    flags = [
        f"-max_total_time={seconds}",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
        "-timeout=60",
    ]
    atheris.Setup([sys.argv[0], *flags, str(seeds)], one)
    atheris.Fuzz()


def _loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
