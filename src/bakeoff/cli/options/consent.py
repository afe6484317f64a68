"""The options that allow an experiment to use API keys and code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated

import typer

from bakeoff.cli.options.output import declare_options

Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST[:PORT]",
        help="Allow sending keys to this server, which only the experiment names. Repeatable.",
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-key",
        metavar="NAME",
        help="Allow key_env to name this variable, which belongs to no known provider. Repeatable.",
    ),
]


Code = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-code",
        metavar="MODULE",
        help="Allow importing this module, which a retriever of the experiment names. Repeatable.",
    ),
]


def with_consent(command: Callable[..., object]) -> Callable[..., object]:
    """The same command with the options --allow-host, --allow-key and --allow-code."""

    @functools.wraps(command)
    def call(
        *args: object,
        allow_host: list[str] | None = None,
        allow_key: list[str] | None = None,
        allow_code: list[str] | None = None,
        **values: object,
    ) -> object:
        from bakeoff.storage.consent import allow

        allow(allow_host or [], allow_key or [], allow_code or [])
        return command(*args, **values)

    options = {"allow_host": Hosts, "allow_key": Keys, "allow_code": Code}
    return declare_options(call, command, {name: (kind, None) for name, kind in options.items()})
