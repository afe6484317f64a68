"""Runs the `sh` blocks of README.md and of some pages in order, in a clean folder per page.

    python docs/try_commands.py              what `make docs-test` does
    python docs/try_commands.py --fresh      also the blocks for a fresh clone (installs, minutes)
    python docs/try_commands.py --page docs/tutorial.md      one page only

The folder holds `my-docs/`, a copy of these pages, in the place of a reader's documents. A comment before a block says
what is not usual about it: `<!-- may exit with 1 -->`, `<!-- in a fresh clone -->`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/worth-changing.md",
    "docs/tables.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("coming-from-*.md")),
)
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*) -->\n+)?^```sh\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """Commands of a page, and what is not usual about them."""

    page: str
    line: int
    body: str
    note: str

    @property
    def allowed(self) -> tuple[int, ...]:
        """Exit codes that are fine."""
        return (0, 1) if "may exit with 1" in self.note else (0,)

    @property
    def fresh(self) -> bool:
        """Whether it is for a fresh clone."""
        return "fresh clone" in self.note


def blocks(page: str) -> Iterator[Block]:
    """The `sh` blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(page, text[: found.start("body")].count("\n") + 1, found["body"], found["note"] or "")


def main() -> int:
    """Run all blocks; 1 where one exits otherwise than it may."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--page", action="append", choices=PAGES)
    asked = parser.parse_args()
    pages = asked.page or PAGES
    with tempfile.TemporaryDirectory(prefix="bakeoff docs ") as spare:
        failed = [block for page in pages for block in _page(page, Path(spare), fresh=asked.fresh)]
    for block in failed:
        _say(f"failed  {block.page}, line {block.line}")
    _say(f"{len(failed)} blocks failed" if failed else "every block did what its page says")
    return 1 if failed else 0


def _page(page: str, spare: Path, *, fresh: bool) -> Iterator[Block]:
    """The blocks of a page that failed."""
    folder = spare / Path(page).stem
    shutil.copytree(ROOT / "docs", folder / "my-docs", ignore=_only_pages)
    for block in blocks(page):
        if block.fresh and not fresh:
            _say(f"left out  {page}, line {block.line}: it is for a fresh clone (--fresh runs it)")
        elif not _ran(block, _clone(spare) if block.fresh else folder):
            yield block


def _only_pages(folder: str, names: list[str]) -> set[str]:
    """Of the docs folder, what is no page of its top level."""
    return {name for name in names if Path(folder, name).is_dir() or not name.endswith(".md")}


def _clone(spare: Path) -> Path:
    target = spare / "clone"
    if not target.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(target)], check=True)  # noqa: S603, S607
    return target


def _ran(block: Block, folder: Path) -> bool:
    _say(f"\n── {block.page}, line {block.line}")
    started = time.perf_counter()
    command = ["bash", "-exuo", "pipefail", "-c", block.body]
    code = subprocess.run(command, cwd=folder, env=_environment(block, folder), check=False).returncode  # noqa: S603
    _say(f"── exit code {code}, {time.perf_counter() - started:.1f} s")
    return code in block.allowed


def _environment(block: Block, folder: Path) -> dict[str, str]:
    """This environment with this Python's commands first and a cache of its own unless one is given.

    A fresh clone gets neither: it must find its own way.
    """
    if block.fresh:
        ours = ("BAKEOFF_HOME", "VIRTUAL_ENV")
        return {k: v for k, v in os.environ.items() if k not in ours and not k.startswith(("MAKE", "MFLAGS"))}
    here = Path(sys.executable).parent
    given = {"BAKEOFF_HOME": str(folder / "home"), **os.environ}
    return {**given, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
