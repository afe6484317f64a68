"""What `bakeoff init` writes: an experiment and a query file fitted to what a folder holds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from bakeoff import registry
from bakeoff.corpus.document_kinds import KIND_OF_SUFFIX
from bakeoff.corpus.skipped_files import SkippedFiles, describe_skipped, summarise_skipped
from bakeoff.errors import CorpusError, SettingError
from bakeoff.types import Document, Skipped, SourceItem

CODE = frozenset(
    {"python", "javascript", "typescript", "tsx", "go", "rust", "java", "c", "cpp", "ruby", "sql"}
)
READ_AT_MOST = 400
DRAFTS = 5


@dataclass(frozen=True, slots=True)
class FolderSummary:
    """What a folder holds, and what of it is not read."""

    folder: Path
    files: int
    bytes: int
    kinds: Counter[str]
    suffixes: Counter[str]
    skipped: tuple[SkippedFiles, ...]
    titles: tuple[tuple[str, str], ...]

    @property
    def code(self) -> bool:
        """Whether most of the documents are source code."""
        return sum(self.kinds[kind] for kind in CODE) * 2 > sum(self.kinds.values())


def inspect_folder(folder: Path) -> FolderSummary:
    """List a folder and read the first documents of it."""
    plugin = registry.load("sources", "folder")
    source = plugin(plugin.Params(folder=folder.resolve()))
    listed = list(source.items())
    items = [item for item in listed if isinstance(item, SourceItem)]
    documents = [source.read(item) for item in items[:READ_AT_MOST]]
    skipped = [found for found in (*listed, *documents) if isinstance(found, Skipped)]
    read = [document for document in documents if isinstance(document, Document)]
    if not read:
        why = describe_skipped(summarise_skipped(skipped))
        raise CorpusError(
            f"{folder} holds no document that can be read. {why} Give a folder with text, code, HTML or PDF."
        )
    return FolderSummary(
        folder=folder,
        files=len(items),
        bytes=sum(item.size for item in items),
        kinds=Counter(KIND_OF_SUFFIX.get(_ending(item.id), "text") for item in items),
        suffixes=Counter(Path(item.id).suffix for item in items if Path(item.id).suffix),
        skipped=summarise_skipped(skipped),
        titles=tuple(_titles(read)),
    )


def _ending(name: str) -> str:
    return Path(name).suffix[1:].lower()


def write_experiment(seen: FolderSummary, into: Path, *, force: bool) -> tuple[Path, Path]:
    """Write bakeoff.yaml and queries.yaml; files that are there are kept unless `force`."""
    experiment, queries = into / "bakeoff.yaml", into / "queries.yaml"
    there = [path.name for path in (experiment, queries) if path.exists()]
    if there and not force:
        raise SettingError(f"{' and '.join(there)} exist in {into.resolve()}. Use --force to replace them.")
    try:
        into.mkdir(parents=True, exist_ok=True)
        experiment.write_text(experiment_text(seen, into), encoding="utf-8")
        queries.write_text(queries_text(seen), encoding="utf-8")
    except OSError as exc:
        raise SettingError(
            f"cannot write into {into}: {exc.strerror}. Choose another folder with --into."
        ) from exc
    return experiment, queries


def experiment_text(seen: FolderSummary, into: Path) -> str:
    """A commented experiment for the folder."""
    patterns = ", ".join(f'"**/*{suffix}"' for suffix, _ in seen.suffixes.most_common())
    folder = json.dumps(
        _relative(seen.folder, into), ensure_ascii=False
    )  # JSON text is YAML text on one line
    inside = into.resolve().is_relative_to(seen.folder.resolve())
    exclude = (
        'exclude: ["**/bakeoff.yaml", "**/queries.yaml", "runs/**"]'
        if inside
        else '# exclude: ["**/drafts/**"]'
    )
    lines = "windows of 50 lines" if seen.code else "windows of 100 lines"
    cut = "at functions and classes" if seen.code else "at headings and sections"
    return f"""\
# {seen.files} files, {seen.bytes / 1e6:.1f} MB. Everything not named here has a sensible default.
# bakeoff run    measures every combination below and prints a verdict

name: {json.dumps(seen.folder.resolve().name, ensure_ascii=False)}

corpus:
  folder: {folder}
  include: [{patterns}]
  {exclude}

queries: queries.yaml

chunkers:
  - line          # {lines}
  - semantic      # cut {cut}
  # - {{tokens: {{size: 256, overlap: 32}}}}

embedders:
  - wordllama     # static vectors: very fast, weights in its package
  # - minilm      # all-MiniLM-L6-v2: better, slower; fetch it once with: bakeoff models pull minilm

stores: [exact]   # more: bakeoff list stores

modes: [dense, bm25, hybrid]

measures:
  primary: nDCG@10(document)     # decides the verdict; explained by: bakeoff explain nDCG@10
  also: [RR@10(document), R@20(document)]

# limits: {{p95_ms: 100, index_mb: 2000}}   # systems beyond them are not recommended
# runs: 3                                 # repeat the timings
"""


def queries_text(seen: FolderSummary) -> str:
    """A query file with drafts made from titles, and the ways to write truth as comments."""
    drafts = [
        {"id": f"draft-{i}", "text": title, "synthetic": True, "truth": {"documents": [name]}}
        for i, (name, title) in enumerate(seen.titles, 1)
    ]
    body = yaml.safe_dump(drafts, sort_keys=False, allow_unicode=True, width=100)
    indented = "".join(f"  {line}\n" for line in body.splitlines())
    return f"""\
# Questions your users would ask, each with what is right. 50 or more tell systems apart; 20 rarely do.
#
# truth: {{documents: [guide/auth.md]}}                       a document, by its path below the corpus folder
# truth: {{symbol: "auth/jwt.py::verify"}}                    a function or class
# truth: {{passage: {{text: "tokens expire after 15 minutes"}}}}  a passage that stands once in the corpus
# truth: {{any: [{{documents: [a.md], grade: 2}}, {{documents: [b.md], grade: 1}}]}}
# truth: negative                                           nothing in the corpus answers it
#
# The drafts below come from titles and are marked synthetic: replace them with real questions.
defaults: {{category: general, difficulty: medium}}
queries:
{indented}"""


def _titles(documents: Iterable[Document]) -> Iterable[tuple[str, str]]:
    seen: set[str] = set()
    for document in documents:
        title = " ".join((document.title or Path(document.id).stem.replace("_", " ")).split())
        if len(title) > 1 and title.lower() not in seen and len(seen) < DRAFTS:
            seen.add(title.lower())
            yield document.id, title


def _relative(folder: Path, into: Path) -> str:
    try:
        return folder.resolve().relative_to(into.resolve()).as_posix() or "."
    except ValueError:
        return folder.resolve().as_posix()
