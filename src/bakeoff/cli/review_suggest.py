"""bakeoff review suggest: a language model's opinion on the passages nobody has judged, kept apart from judgments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.review import Folder, Json, group

if TYPE_CHECKING:
    from bakeoff.review.model_agreement import ModelAgreement
    from bakeoff.review.review_folder import ReviewState
    from bakeoff.review.suggestions import Suggestion
    from bakeoff.runtime.json_client import JsonClient

ADDRESS = "https://api.openai.com/v1"
VARIABLE = "BAKEOFF_CHAT_URL"


@dataclass(frozen=True, slots=True)
class ServerTimeouts:
    """How the model's server is asked."""

    timeout: float
    retries: int
    requests_per_minute: float | None


def register(app: typer.Typer) -> None:  # noqa: ARG001 - the command is part of a group that is added by another module
    """Add this command."""
    group.command("suggest")(suggest)


def suggest(
    folder: Folder,
    model: Annotated[str, typer.Option("--model", help="The model's name on its server.")],
    url: Annotated[
        str | None, typer.Option("--url", help=f"Address up to /v1. [default: ${VARIABLE}, or {ADDRESS}]")
    ] = None,
    key_env: Annotated[
        str, typer.Option("--key-env", help="Variable of the environment or .env with the key.")
    ] = "OPENAI_API_KEY",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Ask about so many at most.")] = None,
    judged: Annotated[
        bool, typer.Option("--judged", help="Also ask about what people judged, to see how far it agrees.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of suggestions. [default: one in the review]")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for one answer.")] = 60.0,
    retries: Annotated[int, typer.Option(min=0, max=20, help="Times again after 429, 5xx or silence.")] = 3,
    rate: Annotated[float | None, typer.Option("--rate", min=0.1, help="Most requests a minute.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a language model how relevant the passages are that nobody has judged. Suggestions are no judgments.

    Query and passage are sent to the model's server. The review page does not show suggestions.
    """
    from bakeoff.cli import console
    from bakeoff.review.review_folder import load_state, open_desk
    from bakeoff.review.suggesting import opinion_on
    from bakeoff.review.suggestions import read_suggestions, suggestions_file, to_ask
    from bakeoff.review.suggestions import suggest as asked_in_turn

    desk = open_desk(folder)
    standing, path = load_state(desk), out or suggestions_file(desk.folder, model)
    items = to_ask(standing.pool, standing.settled, read_suggestions(path), judged=judged)[:limit]
    server = _server(url, key_env, ServerTimeouts(timeout, retries, rate))
    if not as_json:
        console.print_line(f"{len(items):,} passages with their queries go to {model} at {server.host}")
    try:
        made = asked_in_turn(items, path, model, server.host, lambda item: opinion_on(server, model, item))
        found = list(_with_progress(made, len(items), quiet=as_json))
    finally:
        server.close()
    _say(found, path, model_figures(path, standing), as_json)


def _server(url: str | None, key_env: str, patience: ServerTimeouts) -> JsonClient:
    """The server of chat completions; a password in its address is refused."""
    from pydantic import TypeAdapter, ValidationError

    from bakeoff.errors import MissingExtraError, SettingError
    from bakeoff.storage.environment import SettingSource, get_setting

    try:
        from bakeoff.review.suggesting import ModelFailure
        from bakeoff.runtime.json_client import Address, JsonClient
    except ModuleNotFoundError as exc:
        raise MissingExtraError("review suggest needs urllib3: pip install 'bakeoff[openai]'") from exc
    given = url or get_setting(VARIABLE) or ADDRESS
    try:
        address: str = TypeAdapter(Address).validate_python(given)
    except ValidationError as exc:
        raise SettingError(f"--url: {exc.errors(include_url=False, include_input=False)[0]['msg']}") from None
    return JsonClient(address, key_env, patience, ModelFailure, SettingSource.USER)


def _with_progress(made: Iterator[Suggestion], total: int, *, quiet: bool) -> Iterator[Suggestion]:
    """Say every tenth how far it is."""
    from bakeoff.cli import console

    for number, one in enumerate(made, 1):
        if not quiet and number % 10 == 0:
            console.err.print(f"{number:,} of {total:,}", markup=False)
        yield one


def model_figures(path: Path, standing: ReviewState) -> ModelAgreement | None:
    """How far the model of a file agrees with people; None where it has said nothing."""
    from bakeoff.review.model_agreement import model_agreement
    from bakeoff.review.suggestions import grades, read_suggestions

    said = read_suggestions(path)
    if not said:
        return None
    missing = sum(one.grade is None for one in said)
    return model_agreement(said[0].model, grades(standing.pool, said), missing, standing.settled)


def _say(found: list[Suggestion], path: Path, beside: ModelAgreement | None, as_json: bool) -> None:
    from dataclasses import asdict

    from bakeoff.cli import console
    from bakeoff.review.suggesting import GRADES

    missing = [one for one in found if one.grade is None]
    if as_json:
        agreement = asdict(beside) if beside else None
        console.say_json({"file": str(path), "asked": len(found), "missing": len(missing), "agreement": agreement,
                          "suggestions": [asdict(one) for one in found]})  # fmt: skip
        return
    for grade, words in GRADES.items():
        console.print_line(f"  {sum(one.grade == grade for one in found):>6,}  {grade}: {words}")
    if missing:
        console.warn(f"{len(missing):,} answers held no grade and count as missing, as: {missing[0].missing}")
    say_agreement([beside] if beside else [])
    console.print_line(
        f"Kept in {path}. These are suggestions: people judge, blind to them, with bakeoff review serve."
    )


def say_agreement(found: list[ModelAgreement]) -> None:
    """A table of models against people."""
    from bakeoff.cli import console
    from bakeoff.cli.views.review_measures import coefficient, number

    if not found:
        return
    console.print_line()
    rows = [
        [one.model, number(one.same), coefficient(one.relevant), coefficient(one.graded), str(one.only_model),
         str(one.only_people), str(one.relevant.items)]
        for one in found
    ]  # fmt: skip
    console.table(
        [
            "a model and people",
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
