"""Vectors that a server makes up: zeros, rows that all have index 0, digits as a text, a vector without end. The error names the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Request

EXPERIMENT = """\
corpus: {{folder: corpus}}
queries: queries.yaml
chunkers: [whole]
embedders: [{{openai: {{base_url: "{url}/v1", model: made-up, retries: 0}}}}]
stores: [exact]
modes: [dense]
"""
ROWS: dict[str, Callable[[int], dict[str, Any]]] = {
    "zeros": lambda number: {"index": number, "embedding": [0.0] * 8},
    "one index": lambda number: {"index": 0, "embedding": [1.0 + number] * 8},
    "digits": lambda number: {"index": number, "embedding": "12345678"},
    "too long": lambda number: {"index": number, "embedding": [1.0 + number, *[0.5] * 65_536]},
}


@pytest.mark.parametrize("what", ROWS)
def test_made_up_vectors_are_an_error_that_names_the_model(
    what: str, home: Path, cli: Callable[..., str], laid_out: Callable[..., Path]
) -> None:
    def answer(request: Request) -> tuple[int, Any]:
        texts = (request.body or {}).get("input", [])
        return 200, {"data": [ROWS[what](number) for number in range(len(texts))]}

    with Loopback(answer) as server:
        laid_out(Path.cwd(), EXPERIMENT.format(url=server.url))
        said = cli("run", "--out", "run", code=1)
    assert "made-up" in said
    assert ("a vector of 65,537 numbers" in said) == (what == "too long")
    assert "bug in bakeoff" not in said
