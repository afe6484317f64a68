"""Prints the figures of the package's layout and names next to those before it was rearranged.

Run: python docs/code_figures.py [PACKAGE]
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

IRREGULAR = {
    *("told", "taken", "made", "kept", "said", "known", "shown"),
    *("found", "held", "lost", "meant", "sent", "cut", "put"),
}
ALLOWED_TWICE = {"Params", "Query", "Build"}
BEFORE = {
    "files / lines (code lines)": "539 / 64,155 (46,578)",
    "module lines, median / p90 / max": "117 / 218 / 359",
    "function lines, median / p95 / max": "5 / 19 / 51",
    "modules in the root": "53",
    "class names with two homes": "126 public names",
    "broad excepts": "15",
    "Any per 1,000 code lines": "15.7",
    "one-word functions / classes": "74 % / 65 %",
    "functions named by a bare participle": "9.5 %",
    "calls with 7 or more positional arguments": "113",
}
SKIPPED = (
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.COMMENT,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines that hold code: neither blank, nor comment, nor docstring."""
    used = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in SKIPPED
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            used -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(used)


def percentile(values: Sequence[int], share: float) -> int:
    """The value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def is_participle(name: str) -> bool:
    """Whether a one-word name is a past participle."""
    return (name.endswith("ed") and len(name) > 4) or name in IRREGULAR


def is_broad(node: ast.ExceptHandler) -> bool:
    """Whether a handler catches everything."""
    return node.type is None or (
        isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
    )


def figures(root: Path) -> Iterator[tuple[str, str]]:
    """The figures of a package, by name."""
    paths = [
        path for path in sorted(root.rglob("*.py")) if "examples" not in path.parts
    ]  # documents, not code
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    sizes = [text.count("\n") for text in texts.values()]
    code = sum(code_lines(texts[path], trees[path]) for path in texts)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]
    names = [node.name.strip("_") for node in functions]
    plain = [name for name in names if name and "_" not in name]
    classes = [
        node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    twice = sorted({name for name in classes if classes.count(name) > 1} - ALLOWED_TWICE)
    short = sum(len(re.findall("[A-Z]", name)) == 1 for name in classes)
    named_any = sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)
    yield "files / lines (code lines)", f"{len(texts)} / {sum(sizes):,} ({code:,})"
    yield (
        "module lines, median / p90 / max",
        f"{statistics.median(sizes):.0f} / {percentile(sizes, 0.9)} / {max(sizes)}",
    )
    yield (
        "function lines, median / p95 / max",
        f"{statistics.median(lengths):.0f} / {percentile(lengths, 0.95)} / {max(lengths)}",
    )
    yield "modules in the root", str(len(list(root.glob("*.py"))))
    yield "class names with two homes", f"{len(twice)} {', '.join(twice[:3])}".strip()
    yield "broad excepts", str(sum(isinstance(node, ast.ExceptHandler) and is_broad(node) for node in nodes))
    yield "Any per 1,000 code lines", f"{1000 * named_any / code:.1f}"
    yield (
        "one-word functions / classes",
        f"{100 * len(plain) / len(names):.0f} % / {100 * short / len(classes):.0f} %",
    )
    yield "functions named by a bare participle", f"{100 * sum(map(is_participle, plain)) / len(names):.1f} %"
    yield (
        "calls with 7 or more positional arguments",
        str(sum(isinstance(node, ast.Call) and len(node.args) >= 7 for node in nodes)),
    )


def main() -> None:
    """Print the table."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "bakeoff")
    rows = [f"| {name} | {BEFORE[name]} | {value} |" for name, value in figures(root)]
    sys.stdout.write("\n".join(["| | before | now |", "|---|--:|--:|", *rows, ""]))


if __name__ == "__main__":
    main()
