"""bakeoff review suggest: a language model's grades for open passages, stored separately from judgments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.cli.review.commands import Folder, group
from bakeoff.errors import MissingExtraError, SettingError
from bakeoff.runtime.count_text import count, decimal

if TYPE_CHECKING:
    from bakeoff.review.review_folder import ReviewState
    from bakeoff.review.suggestions import ModelAgreement, Suggestion
    from bakeoff.runtime.json_client import JsonClient

ADDRESS = "https://api.openai.com/v1"
VARIABLE = "BAKEOFF_CHAT_URL"


@dataclass(frozen=True, slots=True)
class ServerTimeouts:
    """Timeout, retries and rate limit of the model's server."""

    timeout: float
    retries: int
    requests_per_minute: float | None


def register(app: typer.Typer) -> None:  # noqa: ARG001 - the command joins a group that another module adds
    """Add this command."""
    group.command("suggest")(suggest)


@with_json
def suggest(
    folder: Folder,
    model: Annotated[str, typer.Option("--model", help="The model's name on its server.")],
    url: Annotated[
        str | None, typer.Option("--url", help=f"Address up to /v1. [default: ${VARIABLE}, or {ADDRESS}]")
    ] = None,
    key_env: Annotated[
        str, typer.Option("--key-env", help="Environment variable (or .env entry) that holds the API key.")
    ] = "OPENAI_API_KEY",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Ask about at most this number of passages.")
    ] = None,
    judged: Annotated[
        bool,
        typer.Option("--judged", help="Also ask about passages that people judged, to measure agreement."),
    ] = False,
    again: Annotated[
        int,
        typer.Option("--again", min=0, help="Ask about N passages twice, to see if grades change."),
    ] = 10,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File for the suggestions. [default: in the review's folder]"),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 60.0,
    retries: Annotated[int, typer.Option(min=0, max=20, help="Retries after 429, 5xx or no answer.")] = 3,
    rate: Annotated[
        float | None, typer.Option("--rate", min=0.1, help="Maximum requests per minute.")
    ] = None,
) -> None:
    """Ask a language model to grade open passages. Suggestions are not judgments.

    Sends query and passage to the model's server. The review page does not show suggestions.
    """
    from bakeoff.review.review_folder import load_state, open_review
    from bakeoff.review.suggesting import opinion_on
    from bakeoff.review.suggestions import read_suggestions, suggestions_file, to_ask, to_ask_again
    from bakeoff.review.suggestions import suggest as ask_in_turn

    review = open_review(folder)
    state, path = load_state(review), out or suggestions_file(review.folder, model)
    items = to_ask(state.pool, state.settled, read_suggestions(path), judged=judged)[:limit]
    server = _server(url, key_env, ServerTimeouts(timeout, retries, rate))
    console.print_line(f"sending {count(len(items), 'passage')} with questions to {model} at {server.host}")
    try:
        ask = partial(ask_in_turn, path=path, model=model, server=server.host,
                      ask=lambda item: opinion_on(server, model, item))  # fmt: skip
        suggestions = list(_with_progress(ask(items), len(items)))
        for _ in ask(to_ask_again(state.pool, path, again)):
            pass
    finally:
        server.close()
    _print_suggestions(suggestions, path, model_figures(path, state))


def _server(url: str | None, key_env: str, timeouts: ServerTimeouts) -> JsonClient:
    """A client of the chat-completions server; an address with a password is refused."""
    from pydantic import TypeAdapter, ValidationError

    from bakeoff.storage.environment import SettingSource, get_setting

    try:
        from bakeoff.review.suggesting import ModelFailure
        from bakeoff.runtime.json_client import Address, JsonClient
    except ModuleNotFoundError as exc:
        raise MissingExtraError("review suggest needs urllib3: pip install 'bakeoff[openai]'") from exc
    url_text = url or get_setting(VARIABLE) or ADDRESS
    try:
        address: str = TypeAdapter(Address).validate_python(url_text)
    except ValidationError as exc:
        raise SettingError(f"--url: {exc.errors(include_url=False, include_input=False)[0]['msg']}") from None
    return JsonClient(address, key_env, timeouts, ModelFailure, SettingSource.USER)


def _with_progress(suggestions: Iterator[Suggestion], total: int) -> Iterator[Suggestion]:
    """Print progress after every tenth suggestion."""
    for number, one in enumerate(suggestions, 1):
        if number % 10 == 0:
            console.print_progress(f"{number:,} of {total:,}")
        yield one


def model_figures(path: Path, state: ReviewState) -> ModelAgreement | None:
    """How well the model of a file agrees with people; None if the file has no suggestions."""
    from bakeoff.review.suggestions import grade_stability, grades, model_agreement, read_suggestions

    suggestions = read_suggestions(path)
    if not suggestions:
        return None
    missing = sum(suggestion.grade is None for suggestion in suggestions)
    by_item = grades(state.pool, suggestions)
    return model_agreement(suggestions[0].model, by_item, missing, state.settled, grade_stability(path))


def _print_suggestions(suggestions: list[Suggestion], path: Path, agreement: ModelAgreement | None) -> None:
    from bakeoff.review.suggesting import GRADES

    missing = [one for one in suggestions if one.grade is None]
    console.print_json(
        {
            "file": path,
            "asked": len(suggestions),
            "missing": len(missing),
            "agreement": agreement,
            "suggestions": suggestions,
        }
    )
    for grade, words in GRADES.items():
        console.print_line(f"  {sum(one.grade == grade for one in suggestions):>6,}  {grade}: {words}")
    if missing:
        console.warn(f"{len(missing):,} answers had no grade and count as missing, e.g. {missing[0].missing}")
    print_agreement([agreement] if agreement else [])
    console.print_line(
        f"Saved in {path}. These are suggestions; people judge without seeing them: bakeoff review serve."
    )


def print_agreement(figures: list[ModelAgreement]) -> None:
    """Print the agreement of models with people."""
    from bakeoff.cli.review.measures_view import coefficient

    if not figures:
        return
    console.print_line()
    rows = [
        [one.model, decimal(one.same, 3), coefficient(one.relevant), coefficient(one.graded), str(one.only_model),
         str(one.only_people), str(one.relevant.items)]
        for one in figures
    ]  # fmt: skip
    console.table(
        [
            "model and people",
            "same",
            "kappa, relevant or not",
            "grades (weighted)",
            "only model",
            "only people",
            "n",
        ],
        rows,
        right=(1, 2, 3, 4, 5, 6),
    )
    for one in figures:
        console.print_line(f"{one.model}: {one.stability.words}.")
