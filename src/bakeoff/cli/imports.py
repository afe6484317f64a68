"""bakeoff import, export, log: exchange queries, runs and figures with other tools."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import Trust, with_json
from bakeoff.cli.options.truth import Review, Reviews, Truth, TruthChoice
from bakeoff.errors import SettingError
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    from bakeoff.presets.export_files import Files
    from bakeoff.truth.importers.draft import ImportedQueries

E = TypeVar("E", bound=StrEnum)
IdColumn = Annotated[str, typer.Option(help="csv: the column with query ids.", metavar="NAME")]
TextColumn = Annotated[str, typer.Option(help="csv: the column with questions.", metavar="NAME")]
DocumentColumn = Annotated[str, typer.Option(help="csv: the column with relevant documents.", metavar="NAME")]
GradeColumn = Annotated[str, typer.Option(help="csv: the column with grades.", metavar="NAME")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("import")(import_)
    app.command("export")(export)
    app.command()(log)


ImportFormat = Annotated[
    str, typer.Argument(metavar="FORMAT", help="lineage | code | vectordb | goldsql | beir | trec | csv")
]
ImportFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="The file, files or folder of that format.")
]
Unjudged = Annotated[bool, typer.Option("--unjudged", help="beir, trec: keep queries without judgments.")]
AnyExtension = Annotated[
    bool, typer.Option("--any-extension", help="goldsql: AAR0201.pdf also means AAR0201.txt.")
]
SectionLabels = Annotated[
    bool,
    typer.Option(
        "--section-labels", help="goldsql: section names are labels of your chunks instead of headings."
    ),
]
Field = Annotated[
    str,
    typer.Option(help="trec: the topic field that is the query: title | desc | narr. [default: title]"),
]
Grades = Annotated[
    str,
    typer.Option(
        help="beir, trec, csv: highest-best, lowest-best (1 is the best grade), or new grades: 1=3,2=2,3=1."
    ),
]


@with_json
def import_(
    format_: ImportFormat,
    files: ImportFiles,
    out: Annotated[Path, typer.Option("--out", help="The query file to write.")] = Path("queries.yaml"),
    split: Annotated[
        str, typer.Option(help="beir: the split to read, qrels/SPLIT.tsv. [default: test]")
    ] = "",
    unjudged: Unjudged = False,
    any_extension: AnyExtension = False,
    section_labels: SectionLabels = False,
    field: Field = "",
    grades: Grades = "",
    id_column: IdColumn = "",
    text_column: TextColumn = "",
    document_column: DocumentColumn = "",
    grade_column: GradeColumn = "",
    force: Force = False,
) -> None:
    """Convert another tool's queries to a query file.

    Reports where every field went.
    """
    from bakeoff.presets.import_formats import read_foreign
    from bakeoff.storage.cache import write_file
    from bakeoff.truth.importers.draft import ImportOptions
    from bakeoff.truth.importers.writing import query_file

    if out.exists() and not force:
        raise SettingError(f"{out} already exists. Choose another with --out, or replace it with --force.")
    options = ImportOptions(
        split=split,
        keep_unjudged=unjudged,
        any_extension=any_extension,
        section_labels=section_labels,
        topic_field=field,
        grades=grades,
        columns={"id": id_column, "text": text_column, "document": document_column, "grade": grade_column},
    )
    imported = read_foreign(format_, files, options)
    text = query_file(imported)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, text.encode())
    console.print_json(_account(imported, out))
    _print_import(imported, out)


Source = Annotated[
    Path, typer.Argument(help="A run's folder (rankings), or an experiment (queries and judgments).")
]
Preset = Annotated[
    str,
    typer.Option("--preset", help="The files of a source system: lineage | ann | code | vectordb | goldsql"),
]
ExportLevel = Annotated[str, typer.Option(help="document | chunk: the unit that is ranked and judged.")]
Scores = Annotated[str, typer.Option(help="served | rank: the served scores, or scores that fall with rank.")]
Pair = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--pair",
        metavar="CHALLENGER INCUMBENT",
        help="With --preset goldsql: the two systems to compare. [default: the best two]",
    ),
]
Current = Annotated[
    str | None,
    typer.Option(
        "--current", metavar="SYSTEM", help="lineage: the system in use today; the others are candidates."
    ),
]
Also = Annotated[
    list[Path] | None,
    typer.Option("--also", metavar="RUN", help="lineage: another run with the same truth. Repeatable."),
]


@with_json
def export(
    source: Source,
    out: Annotated[Path, typer.Option("--out", help="The folder to write into.")],
    preset: Preset = "",
    format_: Annotated[str, typer.Option("--format", help="beir | trec")] = "beir",
    level: ExportLevel = "document",
    scores: Scores = "served",
    pair: Pair = None,
    force: Force = False,
    current: Current = None,
    also: Also = None,
    truth: Truth = TruthChoice.REVIEWED,
    review: Reviews = None,
    trust: Trust = False,
) -> None:
    """Write a run or its judgments as files of another tool.

    BEIR or TREC files with --format, the files of a source system with --preset.
    """
    from bakeoff.report.exports.ir_formats import ExportChoice, ExportScores, Format, Level, export_preset
    from bakeoff.report.exports.ir_formats import export as export_files

    if preset:
        files = export_preset(
            source,
            preset,
            trust=trust,
            pair=pair,
            current=current,
            also=also or (),
            reviews=review or (),
            truth=truth.value,
        )
        _write(files, out, force)
        return
    if pair:
        raise SettingError("--pair needs --preset goldsql.")
    if current or also:
        raise SettingError("--current and --also need --preset lineage.")
    if review or truth is not TruthChoice.REVIEWED:
        raise SettingError(
            "--review and --truth need --preset: BEIR and TREC files have the rules' judgments."
        )
    choice = ExportChoice(_one_of(format_, Format), _one_of(level, Level), _one_of(scores, ExportScores))
    _write(export_files(source, choice, trust=trust), out, force)


def _write(files: Files, out: Path, force: bool) -> None:
    """Write files and print their paths and notes."""
    paths = files.write(out, overwrite=force)
    console.print_json({"files": paths, "notes": files.notes})
    for note in files.notes:
        console.warn(note)
    for path in paths:
        console.print_line(str(path))


def _one_of(word: str, kind: type[E]) -> E:
    if word not in list(kind):
        raise SettingError(f"{word!r} is not one of {', '.join(kind)}.")
    return kind(word)


def _account(imported: ImportedQueries, out: Path) -> dict[str, object]:
    """The result of an import as JSON."""
    moves = [{"from": m.source, "to": m.target, "count": m.count, "kept": m.kept} for m in imported.moves]
    return {
        "out": str(out),
        "format": imported.format,
        "queries": len(imported.queries),
        "fields": moves,
        "attention": list(imported.attention),
    }


def _print_import(imported: ImportedQueries, out: Path) -> None:
    for title, kept in (("field", False), ("kept unchanged", True)):
        rows = [[m.source, m.target, f"{m.count:,}"] for m in imported.moves if m.kept is kept]
        if rows:
            console.table([title, "goes to", "times"], rows, right=(2,))
            console.print_line()
    for message in imported.attention:
        console.warn(message)
    categories = len({query.category for query in imported.queries if query.category})
    groups = f" in {count(categories, 'category', 'categories')}" if categories else ""
    console.print_line(f"{count(len(imported.queries), 'query', 'queries')}{groups} written to {out}")


@with_json
def log(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    to: Annotated[str, typer.Option("--to", metavar="TRACKER", help="mlflow or wandb.")],
    project: Annotated[str, typer.Option(help="MLflow experiment, or W&B project.")] = "bakeoff",
    with_report: Annotated[
        bool,
        typer.Option("--with-report", help="Also send run.json and the report, which quotes your documents."),
    ] = False,
    truth: Truth = TruthChoice.REVIEWED,
    review: Review = None,
    trust: Trust = False,
) -> None:
    """Log a run to MLflow or Weights & Biases.

    Sends the settings, scores, latencies and sizes of every system, but no text of documents or questions.
    """
    from bakeoff.report.exports.trackers import Tracker, log_run
    from bakeoff.review.reviewed_run import open_runs

    if to not in list(Tracker):
        raise SettingError(f"--to is {to!r}; it must be one of {', '.join(Tracker)}.")
    (result,) = open_runs([run], trust=trust, reviews=[review] if review else (), truth=truth.value)
    files = _files(run) if with_report else ()
    logged = log_run(result, Tracker(to), project, files)
    console.print_json(logged)
    console.print_line(
        f"Logged   {count(logged.entries, 'system')} of {result.record.run} to {logged.project}"
    )
    console.print_line(f"See      {logged.place}")
    if logged.offline:
        console.print_line(f"Upload   wandb sync {shlex.quote(logged.place)}/offline-run-*")


def _files(run: Path) -> tuple[Path, ...]:
    missing = [name for name in ("run.json", "report.html") if not (run / name).is_file()]
    if missing:
        raise SettingError(f"{run} has no {missing[0]}. Make it with: bakeoff report {run}")
    return run / "run.json", run / "report.html"
