"""No parser is forgotten: every function of the package that reads bytes is reached by a reader, or told why not."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType

import pytest
from fuzzed import READERS

import bakeoff

SOURCE = Path(bakeoff.__file__).parent
READING = {
    "loads", "safe_load", "compose", "read_text", "read_bytes", "read_table", "read_schema", "read_metadata",
    "open_file", "open_stream", "fromfile", "frombuffer", "memmap", "File", "ZipFile", "DictReader", "from_str",
    "from_file", "from_pretrained", "InferenceSession", "GGUFReader", "load_file", "read_index", "model_validate_json",
    "recv", "restore", "unpack",
}  # fmt: skip
"""Calls that turn bytes into something, whoever they are called on."""
READING_OF = {
    "np.load",
    "pickle.load",
    "json.load",
    "yaml.load",
    "tomllib.load",
    "csv.reader",
    "tarfile.open",
    "reply.json",
}
"""The same for names that others have too."""
NOT_FOREIGN = {
    "the package's own files": "examples/*, measures/preset_settings.py:*, review/web/server.py:_file, storage/catalogue.py:entries, plugins/embedders/wordllama.py:*",
    "artifacts of the cache, read after their hashes were checked": (
        "storage/row_cache.py:_plan, pipeline/vector_file.py:read_vectors, pipeline/lengths.py:token_lengths, benchmark/vectors/neighbours.py:truth_of, plugins/stores/*, plugins/kit/sidecar.py:load, "
        "pipeline/canary.py:*, pipeline/encoded_rows.py:read_encoded, pipeline/embed.py:fit_encoder, plugins/encoders/bm25_sparse.py:load_statistics, pipeline/reading/rows.py:_read, benchmark/configurations/repeats.py:*, benchmark/results/configurations.py:*, pipeline/work_time.py:*"
    ),
    "what a process that this one started, or was started by, sends through a pipe or a folder of theirs": (
        "benchmark/run_in_subprocess.py:run_isolated, benchmark/clients/client.py:main, benchmark/scale/measure_size.py:*, storage/row_cache.py:from_bytes, runtime/shards.py:_load_plugin, "
        "pipeline/chunking/worker.py:_answer, pipeline/chunking/parallel.py:_ask, corpus/limited_process.py:_serve, corpus/fork_server.py:_run, pipeline/reading/process.py:_open_service, "
        "truth/sql_process.py:_compute, benchmark/configurations/ingested_artifacts.py:query_vectors"
    ),
    "what the kernel tells of this machine": "benchmark/resources/usage.py:*, runtime/machine.py:_processor",
    "arrays and texts in the memory of this process": (
        "benchmark/open_loop.py:_result, benchmark/vectors/neighbours.py:*, corpus/shingles.py:*, "
        "pipeline/payload.py:_of_documents, report/exports/ir_formats.py:_documents, plugins/embedders/fastembed.py:_uncut, "
        "runs/recording.py:_readers, report/exports/trackers.py:_params, runs/system_needs.py:_parts, runs/verdict.py:with_reader, pipeline/reading/encodings.py:*, presets/lineage/export.py:_model_name, testing/store_fixture.py:vectors"
    ),
    "bytes that are only compared, hashed, copied or shown": (
        "runs/live/plan_of_run.py:_model_files, storage/pull.py:_join, report/render/brief.py:_pdf, cli/status.py:_is, storage/shared_cache.py:pack, report/sections/scaling.py:attach, review/ledger.py:_cut_off, review/pooling.py:_holds, review/review_folder.py:*guideline, "
        "runtime/servers/control.py:tail, storage/weights.py:*"
    ),
    "tested with damaged files of their own": "storage/hub.py:*, config/model_names.py:_gguf_prompts, corpus/tables/arrow_files.py:_names",
    "weights that are checked by their hash before they are opened": "plugins/embedders/use.py:_start",
    "fuzzed as HDF5 with a text, by the process that a reader starts": "benchmark/vectors/hdf5_text.py:read_distance",
    "engines that this program made and started itself": "runtime/servers/redis.py:version, runtime/servers/weaviate.py:*",
}
"""Why a function that reads needs no damaged files, and which do not."""


class _Calls(ast.NodeVisitor):
    """The functions of a module that have such a call, by their first line."""

    def __init__(self) -> None:
        self.inside: list[tuple[str, int]] = [("<module>", 1)]
        self.found: dict[int, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        self.inside.append((node.name, first))
        self.generic_visit(node)
        self.inside.pop()

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = getattr(getattr(node.func, "value", None), "id", "")
        if name in READING or f"{owner}.{name}" in READING_OF or (name == "open" and _for_reading(node)):
            function, line = self.inside[-1]
            self.found[line] = function
        self.generic_visit(node)


def _for_reading(call: ast.Call) -> bool:
    """Whether a file is opened, and not to be written: a store's `open` has other arguments."""
    modes = [one.value for one in call.args if isinstance(one, ast.Constant)]
    return any(mode in ("r", "rb") for mode in modes) or (not call.args and bool(call.keywords))


def _reading_functions() -> dict[tuple[str, int], str]:
    """All of them, as `module:function` by module and first line."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        calls = _Calls()
        calls.visit(ast.parse(path.read_text(encoding="utf-8")))
        module = path.relative_to(SOURCE).as_posix()
        found |= {(module, line): f"{module}:{function}" for line, function in calls.found.items()}
    return found


@contextmanager
def _watching() -> Iterator[set[tuple[str, int]]]:
    """The functions that are called meanwhile, in any thread."""
    seen: set[tuple[str, int]] = set()

    def watch(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call":
            seen.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


@pytest.mark.slow
def test_every_function_that_reads_is_fuzzed_or_told_why_not(tmp_path: Path) -> None:
    lacking = {reader.missing for reader in READERS.values()} - {""}
    if lacking:
        pytest.skip(f"some parsers need {', '.join(sorted(lacking))}")
    valid = {kind: reader.content() for kind, reader in READERS.items()}  # a run that is made reads its cache
    with _watching() as seen:
        for number, (kind, reader) in enumerate(READERS.items()):
            reader.feed(reader.place(tmp_path / str(number)), valid[kind])
    here = {(Path(file), line) for file, line in seen}
    left = {
        name for (module, line), name in _reading_functions().items() if (SOURCE / module, line) not in here
    }
    patterns = [one.strip() for names in NOT_FOREIGN.values() for one in names.split(",")]
    lost = {name for name in left if not any(fnmatch(name, one) for one in patterns)}
    assert not lost, "\n".join(sorted(lost))
    assert [one for one in patterns if not any(fnmatch(name, one) for name in left)] == []
