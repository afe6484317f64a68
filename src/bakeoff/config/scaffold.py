"""`bakeoff init`: writes an experiment and a query file that fit a folder's contents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import yaml

from bakeoff import registry
from bakeoff.config.file_readers import file_readers
from bakeoff.corpus.document_kinds import KIND_OF_SUFFIX
from bakeoff.corpus.skipped_files import SkippedFiles, describe_skipped, summarise_skipped
from bakeoff.errors import CorpusError, SettingError
from bakeoff.runtime.count_text import count
from bakeoff.types import Document, Skipped, SourceItem

CODE = frozenset(
    {"python", "javascript", "typescript", "tsx", "go", "rust", "java", "c", "cpp", "ruby", "sql"}
)
READ_AT_MOST = 400
DRAFTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSummary:
    """What a folder contains, and what is not read."""

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

    @property
    def chunkers(self) -> tuple[tuple[str, str], ...]:
        """The chunkers to compare, each with a description."""
        lines = "windows of 50 lines" if self.code else "windows of 100 lines"
        cut = "at functions and classes" if self.code else "at headings and sections"
        return ("line", lines), ("semantic", f"cut {cut}")

    @property
    def name(self) -> str:
        """Name of the experiment: the folder's."""
        return self.folder.resolve().name

    @property
    def size(self) -> str:
        """Size of the corpus, for the first line of the experiment."""
        return f"{count(self.files, 'file')}, {self.bytes / 1e6:.1f} MB"

    def corpus_text(self, into: Path) -> str:
        """The corpus of the experiment, as YAML."""
        patterns = ", ".join(f'"**/*{suffix}"' for suffix, _ in self.suffixes.most_common())
        folder = json.dumps(
            _relative(self.folder, into), ensure_ascii=False
        )  # JSON text is YAML text on one line
        inside = into.resolve().is_relative_to(self.folder.resolve())
        exclude = (
            'exclude: ["**/bakeoff.yaml", "**/queries.yaml", "runs/**"]'
            if inside
            else '# exclude: ["**/drafts/**"]'
        )
        return f"folder: {folder}\n  include: [{patterns}]\n  {exclude}{self._readers_text()}"

    def _readers_text(self) -> str:
        """Readers to compare for kinds with several, as a comment; a scan needs its own."""
        scans = any("OCR" in one.reason for one in self.skipped)
        choices = {"pdf": "[pdfium, pypdf, ocr]" if scans else "[pdfium, pypdf]", "html": "[html, main_text]"}
        found = ", ".join(f"{kind}: {names}" for kind, names in choices.items() if self.kinds[kind])
        return f"\n\n# readers: {{{found}}}   # compare readers: bakeoff list readers" if found else ""


def inspect_folder(folder: Path) -> FolderSummary:
    """List a folder and read its first documents."""
    plugin = registry.load("sources", "folder")
    source = plugin(plugin.Params(folder=folder.resolve()))
    listed = list(source.items())
    items = [item for item in listed if isinstance(item, SourceItem)]
    readers = file_readers(item.id for item in items)
    documents = [readers.document(source.read(item)) for item in items[:READ_AT_MOST]]
    skipped = [found for found in (*listed, *documents) if isinstance(found, Skipped)]
    read = [document for document in documents if isinstance(document, Document)]
    if not read:
        why = describe_skipped(summarise_skipped(skipped))
        raise CorpusError(
            f"{folder} contains no readable document. {why} Give a folder with text, code, HTML or PDF."
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


def write_experiment(
    seen: CorpusSummary, into: Path, *, force: bool, queries_file: str | None = None
) -> tuple[Path, Path]:
    """Write bakeoff.yaml and queries.yaml; existing files are kept unless `force`.

    `queries_file` is the text of existing queries; without it, drafts are made from titles.
    """
    experiment, queries = into / "bakeoff.yaml", into / "queries.yaml"
    there = [path.name for path in (experiment, queries) if path.exists()]
    if there and not force:
        raise SettingError(f"{' and '.join(there)} exist in {into.resolve()}. Use --force to replace them.")
    try:
        into.mkdir(parents=True, exist_ok=True)
        experiment.write_text(experiment_text(seen, into), encoding="utf-8")
        queries.write_text(queries_text(seen) if queries_file is None else queries_file, encoding="utf-8")
    except OSError as exc:
        raise SettingError(
            f"cannot write into {into}: {exc.strerror}. Choose another folder with --into."
        ) from exc
    return experiment, queries


class CorpusSummary(Protocol):
    """Basis of a new experiment: an inspected folder or table."""

    @property
    def name(self) -> str:
        """The name of the experiment."""
        ...

    @property
    def size(self) -> str:
        """Size of the corpus, for the first line of the experiment."""
        ...

    @property
    def chunkers(self) -> tuple[tuple[str, str], ...]:
        """The chunkers to compare, each with a description."""
        ...

    @property
    def titles(self) -> tuple[tuple[str, str], ...]:
        """Some documents and their titles."""
        ...

    def corpus_text(self, into: Path) -> str:
        """The corpus of the experiment, as YAML."""
        ...


def experiment_text(seen: CorpusSummary, into: Path) -> str:
    """A commented experiment for an inspected corpus."""
    chunkers = "\n".join(f"  - {name:<14}# {what}" for name, what in seen.chunkers)
    return f"""\
# {seen.size}. Everything not named here has a sensible default.
# bakeoff run    measures every combination below and prints a verdict

name: {json.dumps(seen.name, ensure_ascii=False)}

corpus:
  {seen.corpus_text(into)}

queries: queries.yaml

chunkers:
{chunkers}
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


def queries_text(seen: CorpusSummary) -> str:
    """A query file with drafts made from titles, and comments on writing truth."""
    drafts = [
        {"id": f"draft-{i}", "text": title, "synthetic": True, "truth": {"documents": [name]}}
        for i, (name, title) in enumerate(seen.titles, 1)
    ]
    body = yaml.safe_dump(drafts, sort_keys=False, allow_unicode=True, width=100)
    indented = "".join(f"  {line}\n" for line in body.splitlines())
    return f"""\
# Questions your users would ask, each with what is right. 50 or more can separate systems; 20 rarely do.
#
# truth: {{documents: [guide/auth.md]}}                       a document, by its path below the corpus folder
# truth: {{symbol: "auth/jwt.py::verify"}}                    a function or class
# truth: {{passage: {{text: "tokens expire after 15 minutes"}}}}  a passage that occurs once in the corpus
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
