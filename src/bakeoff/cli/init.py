"""bakeoff init: write an experiment for a folder or a table."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.errors import SettingError
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    from bakeoff.config.table_scaffold import QuestionColumns
    from bakeoff.corpus.skipped_files import SkippedFiles

SHOWN = 8


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(init)


def _skipped_line(one: SkippedFiles) -> str:
    """Describe skipped files of one format, and the pattern that would include them."""
    from bakeoff.corpus.document_kinds import NOT_INCLUDED

    suffix = PurePosixPath(one.example).suffix
    pattern = f"**/*{suffix}" if suffix else f"**/{one.example}"
    advice = f'; add "{pattern}" to read them as text' if one.reason == NOT_INCLUDED else ""
    return f"{one.files:,} {one.kind}, e.g. {one.example} ({one.reason}{advice})"


def init(
    documents: Annotated[
        Path, typer.Argument(metavar="DOCUMENTS", help="The folder of your documents, or a table of them.")
    ],
    questions: Annotated[
        Path | None, typer.Argument(metavar="QUESTIONS", help="With a table: a table of questions.")
    ] = None,
    into: Annotated[Path, typer.Option(help="Folder to write the two files to.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="URL of your current search: asked once, then added as a retriever."
        ),
    ] = None,
    body: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="Request body for --endpoint, with {query} and {k}. [default: guessed]"
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="Question to send to --endpoint. [default: the title of a document]")
    ] = None,
) -> None:
    """Write an experiment for your folder or table."""
    if endpoint is None and (body or question):
        raise SettingError("--body and --question apply only with --endpoint URL. Add the URL.")
    experiment = _init(documents, questions, into, force=force)
    if endpoint is not None:
        _add_endpoint(experiment, endpoint, body, question)


def _init(documents: Path, questions: Path | None, into: Path, *, force: bool) -> Path:
    """Write both files and return the experiment's."""
    from bakeoff.config import scaffold

    if _is_table(documents):
        return _init_table(documents, questions, into, force=force)
    if questions is not None:
        raise SettingError(f"{documents} is a folder; a table of questions needs a table of documents.")
    summary = scaffold.inspect_folder(documents)
    experiment, queries = scaffold.write_experiment(summary, into, force=force)
    kinds = ", ".join(f"{number} {kind}" for kind, number in summary.kinds.most_common())
    console.print_line(f"{count(summary.files, 'file')}, {summary.bytes / 1e6:.1f} MB: {kinds}")
    for group in summary.skipped[:SHOWN]:
        console.print_line(f"skipped   {_skipped_line(group)}")
    if rest := sum(group.files for group in summary.skipped[SHOWN:]):
        console.print_line(f"skipped   {rest:,} more of {len(summary.skipped) - SHOWN} other kinds")
    console.print_line(f"wrote     {experiment} and {queries}")
    console.print_line(
        f"Next      write questions in {queries} (bakeoff suggest drafts some), then: {_run(into)}"
    )
    return experiment


def _add_endpoint(experiment: Path, url: str, body: str | None, question: str | None) -> None:
    """Ask an endpoint once, and add it to the experiment as a retriever."""
    from bakeoff.cli.trials.part import given_value
    from bakeoff.config import experiment as experiments
    from bakeoff.config.endpoint_scaffold import probe_endpoint
    from bakeoff.runs.live.part_trials import corpus_of, first_title

    corpus = corpus_of(experiments.load(experiment))
    text = question or first_title(corpus)
    template = None if body is None else given_value(body, "--body")
    endpoint = probe_endpoint(url, template, text, frozenset(corpus.documents["id"].to_pylist()))
    with experiment.open("a", encoding="utf-8") as file:
        file.write(endpoint.yaml_text())
    results = count(endpoint.results, "result")
    console.print_line(
        f"endpoint  {results} for {text!r}, of which {endpoint.known} name a document of the corpus"
    )
    for name in ("hits", "id", "text", "score", "start", "end"):
        if (path := getattr(endpoint, name)) is not None:
            console.print_line(f"{name:<9} {path}")
    console.print_line(f"Check     bakeoff test retriever current --experiment {experiment}")


def _is_table(documents: Path) -> bool:
    """Whether it is the file of a table, or a folder that Hugging Face's `save_to_disk` wrote."""
    if documents.is_dir():
        return (documents / "state.json").is_file() or (documents / "dataset_dict.json").is_file()
    from bakeoff.corpus.tables import table_suffix

    return bool(table_suffix(documents))


def _run(into: Path) -> str:
    return "bakeoff run" if into == Path() else f"bakeoff run {into}"


def _init_table(documents: Path, questions: Path | None, into: Path, *, force: bool) -> Path:
    from bakeoff.config import scaffold
    from bakeoff.config.table_scaffold import inspect_questions, inspect_table

    summary = inspect_table(documents)
    dates = f" (dates: {', '.join(summary.dates)})" if summary.dates else ""
    console.print_line(f"{summary.size} in {documents.name}")
    console.print_line(f"id        {summary.id}")
    console.print_line(f"text      {', '.join(summary.text)}")
    console.print_line(f"fields    {', '.join(summary.fields) or 'none'}{dates}")
    if summary.left_out:
        console.print_line(f"not used  {', '.join(summary.left_out)}")
    text = None
    if questions is not None:
        columns = inspect_questions(questions, summary)
        console.print_line(f"questions {columns.text}, answered by the document in {columns.document}")
        if columns.known < 1:
            console.warn(
                f"{1 - columns.known:.0%} of the rows name a document that is not in {documents.name}."
            )
        text = _query_text(questions, columns)
    experiment, queries = scaffold.write_experiment(summary, into, force=force, queries_file=text)
    console.print_line(f"wrote     {experiment} and {queries}")
    write = "" if text else f", write questions in {queries} (bakeoff suggest drafts some)"
    console.print_line(f"Next      check the columns in {experiment}{write}, then: {_run(into)}")
    return experiment


def _query_text(questions: Path, found: QuestionColumns) -> str:
    """The query file of a table of questions."""
    from bakeoff.corpus.tables import open_table
    from bakeoff.presets.import_formats import read_foreign
    from bakeoff.storage.temp_dir import TempDir
    from bakeoff.truth.importers.draft import ImportOptions
    from bakeoff.truth.importers.writing import query_file

    columns = {"id": "", "text": found.text, "document": found.document, "grade": ""}
    with TempDir("questions") as folder:
        path = questions
        if questions.suffix.lower() not in (".csv", ".tsv"):
            path = folder / f"{questions.stem}.csv"
            open_table(questions).write_csv(path)
        return query_file(read_foreign("csv", [path], ImportOptions(columns=columns)))
