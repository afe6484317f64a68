"""Options of commands that print or read results, and how options are added to a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, cast

import typer

from bakeoff.cli import console

C = TypeVar("C", bound=Callable[..., Any])
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Trust = Annotated[bool, typer.Option("--trust", help="Read tables even if they were changed after the run.")]


def with_json(command: C) -> C:
    """The same command with the option --json."""

    @functools.wraps(command)
    def call(*args: object, as_json: bool = False, **values: object) -> object:
        with console.answer_in_json(as_json):
            return command(*args, **values)

    return cast("C", declare_options(call, command, {"as_json": (Json, False)}))


def declare_options(
    call: Callable[..., object], command: Callable[..., object], options: Mapping[str, tuple[object, object]]
) -> Callable[..., object]:
    """A wrapper of a command, with the command's signature plus options: name → (type, default)."""
    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    call.__annotations__ = {name: one.annotation for name, one in call.__signature__.parameters.items()}  # type: ignore[attr-defined]
    return call
