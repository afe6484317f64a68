"""Program text along its definitions (S2-19, S2-20)."""

from __future__ import annotations

import json
import logging
import sys
from importlib import metadata
from pathlib import Path

import pytest

from bakeoff.corpus import grammars
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.types import Document, Piece

RUST = """//! Checks who is asking.

use crate::token;

/// Lets through who has a token.
#[derive(Clone)]
pub struct AuthMiddleware<T> { store: T }

impl AuthMiddleware {
    // keeps the clock honest
    #[inline]
    pub fn verify_token(&self, token: &str) -> bool { token.len() > 3 }

    fn other(&self) {}
}
"""


def chunk(text: str, kind: str, file: str = "src/auth.rs", **params: object) -> list[Piece]:
    chunker = SemanticChunker(SemanticChunker.Params.model_validate({"merge_below": 0} | params))
    return list(chunker.chunk(Document(file, text, kind)))


def by_symbol(pieces: list[Piece], symbol: str) -> Piece:
    return next(p for p in pieces if p.symbol == symbol)


def test_the_context_is_file_module_doc_and_scope() -> None:
    piece = by_symbol(chunk(RUST, "rust"), "AuthMiddleware.verify_token")
    assert piece.context == (
        "[file: src/auth.rs] Checks who is asking.\n[context: impl AuthMiddleware > fn verify_token]\n\n"
    )


def test_comments_and_attributes_stay_with_their_function() -> None:
    piece = by_symbol(chunk(RUST, "rust"), "AuthMiddleware.verify_token")
    assert RUST[piece.start : piece.end].startswith(
        "    // keeps the clock honest\n    #[inline]\n    pub fn"
    )
    assert "fn other" not in RUST[piece.start : piece.end]


@pytest.mark.parametrize(
    ("style", "context"),
    [
        ("none", ""),
        ("comment", "// file: src/auth.rs Checks who is asking.\n// context: impl AuthMiddleware > fn verify_token\n\n"),
        ("natural", "From the file src/auth.rs (Checks who is asking), in impl AuthMiddleware, fn verify_token.\n\n"),
        (
            "signature",
            "// src/auth.rs\nimpl AuthMiddleware {\n"
            "  pub fn verify_token(&self, token: &str) -> bool { token.len() > 3 }\n\n",
        ),
    ],
)  # fmt: skip
def test_styles_of_context(style: str, context: str) -> None:
    assert by_symbol(chunk(RUST, "rust", context=style), "AuthMiddleware.verify_token").context == context


PYTHON = '''"""Reads things."""
import os

# stands right above
@decorated
class Reader(Base):
    """Doc."""

    size = 1

    # of open
    @property
    async def open(self):
        return "öffne"

    def close(self): pass  # trailing

    # after a comment

    def last(self):
        def inner(): pass
        return inner

if os.name == "nt":
    def only_there(): ...
else:
    def only_there(): ...
'''


def test_python_definitions_and_their_text() -> None:
    pieces = chunk(PYTHON, "python")
    found = {p.symbol: PYTHON[p.start : p.end] for p in reversed(pieces)}
    assert found["Reader"].startswith("# stands right above\n@decorated\nclass Reader")
    assert found["Reader.open"].startswith("    # of open\n    @property")
    assert found["Reader.close"] == "    def close(self): pass  # trailing"
    assert found["Reader.last"].endswith("return inner")
    assert "Reader.last.inner" not in found
    assert sum(p.symbol == "only_there" for p in pieces) == 2


SAMPLES = {
    "javascript": (
        "/** T */\nexport default class A extends B {\n  constructor(){}\n  static m(){}\n}\n"
        "export const f = async (x) => {};\nA.prototype.q = function(){};\n",
        ["A", "A.constructor", "A.m", "f", "A.prototype.q"],
    ),
    "typescript": (
        "namespace N {\n  export function g(){}\n}\nexport abstract class A {\n  n() {}\n}\nenum E {A}\n"
        "type T = {a:1}\ninterface I { a(): void }\n",
        ["N", "N.g", "A", "A.n", "E", "T", "I"],
    ),
    "tsx": ("export function App() { return <b>é</b>; }\nconst B: FC = () => <b/>;\n", ["App", "B"]),
    "go": (
        "package a\n// D\nfunc (s *Server[T]) H(x int) error { return nil }\ntype A struct{}\nfunc f(){}\n",
        ["", "Server.H", "A", "f"],
    ),
    "rust": (RUST, ["", "AuthMiddleware", "AuthMiddleware", "AuthMiddleware.verify_token", "AuthMiddleware.other"]),
    "java": (
        "package a;\n/** d */\n@Foo public class A {\n int x;\n A(){}\n @Override public <T> void m(){}\n}\n",
        ["", "A", "A.A", "A.m"],
    ),
    "c": (
        "#ifdef X\nint *foo(int a) { return 0; }\n#endif\nstruct S { int a; };\nstatic void (*sig(int x))(int) { }\n",
        ["", "foo", "S", "sig"],
    ),
    "cpp": (
        "namespace a::b {\ntemplate<class T> class C {\n  ~C() {}\n  int f() const { return 1; }\n};\n}\nint C::g(int x) { }\n",
        ["a.b", "a.b.C", "a.b.C.~C", "a.b.C.f", "C.g"],
    ),
    "ruby": (
        "module M\n class A < B\n  attr_reader :x\n  def self.f(x)\n  end\n  def g; end\n end\nend\n",
        ["M", "M.A", "M.A.f", "M.A.g"],
    ),
    "sql": (
        "CREATE TABLE a.b (id INT);\nCREATE VIEW v AS SELECT 1;\nSELECT * FROM x;\nCREATE INDEX i ON t(a);\n",
        ["a.b", "v", "", "i"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAMPLES)
def test_definitions_of_each_language(kind: str) -> None:
    text, symbols = SAMPLES[kind]
    assert [p.symbol for p in chunk(text, kind)] == symbols


def test_every_grammar_is_tried_above() -> None:
    assert set(SAMPLES) | {"python"} == set(grammars.GRAMMARS)


def test_the_version_names_the_grammars_at_hand() -> None:
    assert f"tree-sitter-python {metadata.version('tree-sitter-python')}" in SemanticChunker.version
    assert "none" not in SemanticChunker.version


def test_small_neighbours_of_one_scope_are_joined_and_all_named() -> None:
    text = "class A:\n" + "".join(f"    def m{n}(self): return {n}\n" for n in range(3)) + "def f(): pass\n"
    (piece, *rest) = chunk(text, "python", merge_below=60)
    assert [p.symbol for p in (piece, *rest)] == ["A.m0", "A.m1, A.m2", "f"]
    assert "[context: class A > def m1, def m2]" in rest[0].context


def test_a_long_function_is_cut_at_lines_and_keeps_its_name() -> None:
    body = "".join(f"    x{n} = compute({n}, 'ä')\n" for n in range(200))
    text = f"def long():\n{body}"
    pieces = chunk(text, "python", max_lines=40, max_chars=5000)
    assert {p.symbol for p in pieces} == {"long"}
    assert all(text[p.start : p.end].count("\n") < 40 for p in pieces)
    assert all(p.start == 0 or text[p.start - 1] == "\n" for p in pieces)


def test_the_decoder_of_the_standard_library() -> None:
    path = Path(json.__file__).parent / "decoder.py"
    pieces = chunk(path.read_text(), "python", "json/decoder.py", merge_below=800)
    piece = by_symbol(pieces, "JSONDecoder.raw_decode")
    assert piece.context == (
        "[file: json/decoder.py] Implementation of JSONDecoder\n"
        "[context: class JSONDecoder > def raw_decode]\n\n"
    )


def warned(caplog: pytest.LogCaptureFixture, kind: str, text: str) -> list[str]:
    chunker = SemanticChunker(SemanticChunker.Params(max_lines=2))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert len(list(chunker.chunk(Document("a", text, kind)))) == 2
    return caplog.messages


def test_a_kind_without_a_grammar_is_cut_at_lines_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = warned(caplog, "kotlin", "a\nb\nc\n")
    assert "for kotlin" in message


def test_a_missing_wheel_is_named_and_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    grammars.load.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_ruby", None)
    (message,) = warned(caplog, "ruby", "a\nb\nc\n")
    assert "pip install tree-sitter-ruby" in message
    grammars.load.cache_clear()


def test_text_that_does_not_parse_is_cut_at_lines_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = warned(caplog, "python", "((((\n((((\n((((\n")
    assert "parse as python" in message


def test_noise_is_known_from_its_beginning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        chunk("é😀" * 40_000, "python")
    (message,) = caplog.messages
    assert "begin" in message
