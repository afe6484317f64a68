"""First sentences of docstrings."""

from __future__ import annotations

import pytest

from bakeoff.truth.drafting.docstrings import first_sentence, from_docstrings


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("Return the value under a key. Raise otherwise.", "Return the value under a key."),
        (
            "Split a text, e.g. a\n    line, into its words.\n\n    More.",
            "Split a text, e.g. a line, into its words.",
        ),
        ("Too short.", ""),
        ("f(x, y) -> the sum of x and y is returned", ""),
        (" ".join(["word"] * 31), ""),
        ("", ""),
    ],
)
def test_the_first_sentence(docstring: str, sentence: str) -> None:
    assert first_sentence(docstring) == sentence


def test_private_repeated_and_escaped_definitions_are_left_out() -> None:
    text = '''
def _private():
    """Nobody outside should ever ask for this."""

class Box:
    """Holds things until somebody takes them out."""

    @property
    def size(self):
        """How many things are inside the box."""

    @size.setter
    def size(self, value):
        """How many things may be inside the box."""

    def put(self, thing):
        """Put a `thing` into the box\\n and close it."""

    async def take(self):
        """Take the ``oldest`` thing out of the box."""
        def inner():
            """Nobody can name what is inside a function."""
'''
    found = {draft.truth["symbol"]: draft for draft in from_docstrings("box.py", text)}
    assert set(found) == {"box.py::Box", "box.py::Box.take"}
    assert found["box.py::Box.take"].text == "Take the oldest thing out of the box"
    assert found["box.py::Box.take"].tags == {"leak": "Take the ``oldest`` thing out of the box."}


def test_a_file_that_is_no_python_has_no_drafts() -> None:
    assert list(from_docstrings("a.py", "def f(:\n")) == []
