"""Definitions of the other languages: their characters, and the names the semantic chunker gives the same places."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from bakeoff.corpus import grammars
from bakeoff.errors import TruthError
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.truth.resolve import Truth
from bakeoff.truth.symbols import definitions
from bakeoff.types import Document

SAMPLES = {
    "javascript": (
        "// Größe 😀\nexport default class Ä extends B {\n  constructor(){}\n  static m(){ return 'é'; }\n}\n"
        "export const f = async (x) => { return 'ü'; };\nÄ.prototype.q = function(){};\nconst g = () => 1, h = () => '😀';\n",
        {
            "Ä.m": ["static m(){ return 'é'; }"],
            "f": ["export const f = async (x) => { return 'ü'; };"],
            "Ä.prototype.q": ["Ä.prototype.q = function(){};"],
            "g": ["g = () => 1"],
            "h": ["h = () => '😀'"],
        },
    ),
    "typescript": (
        "/* ü */ namespace N {\n  export function g(){ return 'é' }\n}\n@Injectable()\nexport abstract class A {\n"
        "  @Input()\n  n() {}\n}\nenum E {A}\ntype T = {a:1}\ninterface I { a(): void }\n",
        {
            "N.g": ["export function g(){ return 'é' }"],
            "A": ["@Injectable()\nexport abstract class A {\n  @Input()\n  n() {}\n}"],
            "A.n": ["@Input()\n  n() {}"],
            "E": ["enum E {A}"],
            "T": ["type T = {a:1}"],
            "I": ["interface I { a(): void }"],
        },
    ),
    "tsx": (
        "export function App() { return <b>é</b>; }\nconst B: FC = () => <b/>;\n",
        {"App": ["export function App() { return <b>é</b>; }"], "B": ["const B: FC = () => <b/>;"]},
    ),
    "go": (
        'package a\n\n// Größe\nfunc (s *Server[T]) H(x int) string { return "😀" }\n\ntype (\n\tÄ struct{}\n\tB int\n)\n\n'
        "type C struct{ a int }\n",
        {
            "Server.H": ['func (s *Server[T]) H(x int) string { return "😀" }'],
            "Ä": ["Ä struct{}"],
            "B": ["B int"],
            "C": ["type C struct{ a int }"],
        },
    ),
    "rust": (
        '//! Prüft 😀.\n/// Doc é.\n#[derive(Clone)]\n// and\n#[x]\npub struct A<T> { s: T }\n\nimpl Show for A<u8> {\n'
        '    #[inline]\n    fn f(&self) -> &str { "é" }\n}\n\nmod m { fn g() {} }\n',
        {
            "A": [
                "#[derive(Clone)]\n// and\n#[x]\npub struct A<T> { s: T }",
                'impl Show for A<u8> {\n    #[inline]\n    fn f(&self) -> &str { "é" }\n}',
            ],
            "A.f": ['#[inline]\n    fn f(&self) -> &str { "é" }'],
            "m.g": ["fn g() {}"],
        },
    ),
    "java": (
        'package a;\n/** Größe 😀 */\n@Foo public class A {\n String x = "é";\n A(){}\n @Override public <T> void m(){}\n'
        " class In { void k(){} }\n}\n",
        {"A.A": ["A(){}"], "A.m": ["@Override public <T> void m(){}"], "A.In.k": ["void k(){}"]},
    ),
    "c": (
        "/* ü */\n#ifdef X\nchar *foo(int a) { return \"é\"; }\n#endif\nstruct S;\nstruct S { int a; };\n"
        "static void (*sig(int x))(int) { }\ntypedef struct { int b; } T;\nint foo(int);\n",
        {
            "foo": ['char *foo(int a) { return "é"; }'],
            "S": ["struct S { int a; }"],
            "sig": ["static void (*sig(int x))(int) { }"],
            "T": ["typedef struct { int b; } T;"],
        },
    ),
    "cpp": (
        "// 😀\nclass C;\nnamespace a::b {\ntemplate<class T> class C {\n  ~C() {}\n  int f() const { return 'x'; }\n};\n}\n"
        "int C::g(int x) { return 1; }\n",
        {"a.b.C.f": ["int f() const { return 'x'; }"], "a.b.C.~C": ["~C() {}"], "C.g": ["int C::g(int x) { return 1; }"]},
    ),
    "ruby": (
        "# Größe\nmodule M\n class A < B\n  def self.f(x)\n   'é'\n  end\n  def g; end\n end\nend\n",
        {"M.A.f": ["def self.f(x)\n   'é'\n  end"], "M.A.g": ["def g; end"]},
    ),
    "sql": (
        "-- Größe 😀\nCREATE TABLE a.b (id INT);\nCREATE VIEW v AS SELECT 'é';\nSELECT * FROM x;\nCREATE INDEX i ON t(a);\n",
        {"a.b": ["CREATE TABLE a.b (id INT)"], "v": ["CREATE VIEW v AS SELECT 'é'"], "i": ["CREATE INDEX i ON t(a)"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_characters_of_each_definition(kind: str) -> None:
    text, expected = SAMPLES[kind]
    found = definitions(text, kind, "a")
    texts = {name: [text[start:end] for start, end in spans] for name, spans in found.items()}
    assert {name: texts.get(name) for name in expected} == expected


@pytest.mark.parametrize("kind", SAMPLES)
def test_names_are_those_of_chunks_and_stand_in_them(kind: str) -> None:
    text = SAMPLES[kind][0].replace("struct S;\n", "").replace("class C;\n", "")
    found = definitions(text, kind, "a")
    chunker = SemanticChunker(SemanticChunker.Params(merge_below=0))
    named = [piece for piece in chunker.chunk(Document("a", text, kind)) if piece.symbol]
    assert len(named) >= 2
    for piece in named:
        for name in piece.symbol.split(", "):
            assert any(start < piece.end and piece.start < end for start, end in found[name]), name


def test_a_type_that_is_only_announced_is_not_defined() -> None:
    assert definitions("class C;\nstruct S;\nenum E : int;\nclass D {};\n", "cpp", "a").keys() == {"D"}


def test_every_grammar_is_tried_above() -> None:
    assert set(SAMPLES) | {"python"} == set(grammars.GRAMMARS)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_suffix_serves_where_the_kind_does_not(newline: str) -> None:
    text = f"\ufeffpackage a{newline}func f() {{}}{newline}"
    ((start, end),) = definitions(text, "text", "cmd/main.go")["f"]
    assert text[start:end] == "func f() {}"


def test_a_missing_wheel_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    grammars.load.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    with pytest.raises(TruthError, match=r"pip install 'bakeoff\[semantic\]'"):
        definitions("package a\n", "go", "a.go")
    grammars.load.cache_clear()


def test_what_does_not_parse_is_an_error() -> None:
    with pytest.raises(TruthError):
        definitions("))) (((( ]]] {{{ 3 3 3", "go", "a.go")


def test_a_symbol_rule_over_go(found: Callable[[str], list[tuple[str, str | None]]]) -> None:
    assert found('{symbol: "main.go::main"}') == [("src/main.go", "func main() {}")]


def test_an_unknown_symbol_shows_the_nearest(resolved: Callable[[str], Truth]) -> None:
    (error,) = resolved('{symbol: "main.go::mian"}').errors
    assert "Nearest: main." in error.message
