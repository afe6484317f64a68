"""The folder source: what it finds, how it reads it, and what it says of the rest."""

from __future__ import annotations

import os
import sys
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from pydantic import ValidationError

from bakeoff.config.file_readers import file_readers
from bakeoff.errors import CorpusError
from bakeoff.plugins.readers._html import html_to_text
from bakeoff.plugins.sources.folder import FolderSource
from bakeoff.types import Document, Skipped, SourceItem


def source(folder: Path, **params: object) -> FolderSource:
    return FolderSource(FolderSource.Params.model_validate({"folder": folder} | params))


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def ids(folder: Path, **params: object) -> list[str]:
    return [item.id for item in source(folder, **params).items() if isinstance(item, SourceItem)]


def skipped(folder: Path, **params: object) -> dict[str, str]:
    found = source(folder, **params)
    read = [answer(found, item) if isinstance(item, SourceItem) else item for item in found.items()]
    return {item.id: item.reason for item in read if isinstance(item, Skipped)}


def read(folder: Path, name: str, **params: object) -> Document:
    found = source(folder, **params)
    (item,) = (item for item in found.items() if item.id == name)
    assert isinstance(item, SourceItem)
    document = answer(found, item)
    assert isinstance(document, Document)
    return document


def answer(found: FolderSource, item: SourceItem) -> Document | Skipped:
    """What the usual reader makes of an item."""
    return file_readers([item.id]).document(found.read(item))


def test_ids_are_posix_paths_in_order_and_hidden_folders_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "b.py": b"x",
            "a/z.md": b"x",
            "a/B.TXT": b"x",
            "a-b/c.rs": b"x",
            ".git/config.txt": b"x",
            "node_modules/m.js": b"x",
            "src/__pycache__/m.py": b"x",
            ".venv/lib.py": b"x",
            "data.bin": b"x",
            "lock.json": b"x",
            ".hidden.py": b"x",
        },
    )
    assert ids(tmp_path) == ["a-b/c.rs", "a/B.TXT", "a/z.md", "b.py"]


@pytest.mark.parametrize(
    ("include", "exclude", "found"),
    [
        (["*.py"], [], ["deep/er/x.py", "deep/x.py", "x.py"]),
        (["*.py"], ["deep/er/"], ["deep/x.py", "x.py"]),
        (["*.py"], ["er/"], ["deep/x.py", "x.py"]),
        (["deep/*.py"], [], ["deep/x.py"]),
        (["deep/**/*.py"], [], ["deep/er/x.py", "deep/x.py"]),
        (["deep/**"], ["*.py"], ["deep/y.json"]),
        (["?.[jp][sy]*"], ["**/y.json"], ["deep/er/x.py", "deep/x.py", "x.py"]),
        ([], [], []),
    ],
)
def test_globs(tmp_path: Path, include: list[str], exclude: list[str], found: list[str]) -> None:
    write(tmp_path, dict.fromkeys(("x.py", "deep/x.py", "deep/er/x.py", "deep/y.json"), b"x"))
    assert ids(tmp_path, include=include, exclude=exclude) == found


def test_the_version_follows_the_content(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": b"one", "b.py": b"one"})
    one, other = source(tmp_path).items()
    assert isinstance(one, SourceItem) and isinstance(other, SourceItem)
    assert one.version == other.version and one.size == 3
    write(tmp_path, {"b.py": b"two"})
    assert [
        item.version == one.version for item in source(tmp_path).items() if isinstance(item, SourceItem)
    ] == [True, False]


def test_a_file_that_changes_in_between_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": b"one"})
    found = source(tmp_path)
    (item,) = found.items()
    write(tmp_path, {"a.py": b"two"})
    assert isinstance(item, SourceItem)
    with pytest.raises(CorpusError, match=r"a\.py changed"):
        found.read(item)


def test_every_skipped_file_has_its_reason(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "binary.py": b"a\0b",
            "empty.py": b"",
            "blank.md": b" \n\n",
            "large.txt": b"x" * 2000,
            "page.html": b"<html><script>x()</script></html>",
            "broken.pdf": b"%PDF-1.4 nothing",
            "fine.py": b"x",
        },
    )
    (tmp_path / "link.py").symlink_to("fine.py")
    (tmp_path / "folder.py").mkdir()
    assert {
        name: reason.split(":")[0].split(" (")[0] for name, reason in skipped(tmp_path, max_mb=0.001).items()
    } == {
        "binary.py": "binary",
        "blank.md": "empty",
        "broken.pdf": "damaged PDF",
        "empty.py": "empty",
        "large.txt": "too large",
        "link.py": "symbolic link",
        "page.html": "empty",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": b"x", "closed/b.py": b"x"})
    (tmp_path / "a.py").chmod(0)
    (tmp_path / "closed").chmod(0)
    try:
        assert set(skipped(tmp_path)) == {"a.py", "closed/"}
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_what_the_system_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.py": b"x"})

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert skipped(tmp_path) == {"a.py": "unreadable: Permission denied"}


def test_links_are_followed_when_asked_and_rings_end(tmp_path: Path) -> None:
    write(tmp_path, {"real/a.py": b"x", "real/in/b.py": b"x"})
    (tmp_path / "real/in/ring").symlink_to(tmp_path / "real")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "c.py").symlink_to("real/a.py")
    (tmp_path / "gone.py").symlink_to("nowhere")
    assert ids(tmp_path, follow_symlinks=True) == ["c.py", "real/a.py", "real/in/b.py"]
    assert skipped(tmp_path, follow_symlinks=True) == {"gone.py": "link to nothing"}


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("größe\r\n".encode(), "größe\r\n", "utf-8"),
        ("größe\n".encode("utf-8-sig"), "größe\n", "utf-8-sig"),
        ("größe\n".encode("utf-16"), "größe\n", "utf-16"),
        (b"\xfe\xff" + "größe\n".encode("utf-16-be"), "größe\n", "utf-16"),
        ("größe\n".encode("utf-32"), "größe\n", "utf-32"),
        ("# -*- coding: koi8-r -*-\n'Привет'\n".encode("koi8-r"), "# -*- coding: koi8-r -*-\n'Привет'\n", "koi8-r"),
    ],
)  # fmt: skip
def test_encodings_are_found_and_newlines_kept(tmp_path: Path, data: bytes, text: str, encoding: str) -> None:
    write(tmp_path, {"a.py": data})
    document = read(tmp_path, "a.py")
    assert (document.text, document.fields["encoding"]) == (text, encoding)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("crème brûlée", "cp1252"),
        ("El niño comió piñas. ¿Dónde está el camión?", "cp1252"),
        ("Perché la città è così bella? Più tardi andrò là.", "cp1252"),
        ("The “naïve” café — it’s £5 and costs €6.", "cp1252"),
        ("Der Zähler läuft über, weil die Größe nicht geprüft wird.", "cp1252"),
        ("Zażółć gęślą jaźń. Święta są już blisko, więc kupiłem książkę.", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy. Dnes je hezké počasí.", "cp1250"),
        ("Москва является столицей России.", "cp1251"),
        ("Москва является столицей России.", "koi8-r"),
        ("Η Αθήνα είναι η πρωτεύουσα της Ελλάδας.", "iso8859-7"),
        ("富士山は日本で一番高い山で、静岡県と山梨県にあります。", "cp932"),
        ("富士山は日本で一番高い山で、静岡県と山梨県にあります。", "iso2022_jp"),
        ("长城是中国古代的军事防御工程，东起山海关。", "gb18030"),
        ("한라산은 제주도에 있는 산으로 대한민국에서 가장 높다.", "cp949"),
        ("يقع نهر النيل في أفريقيا ويصب في البحر الأبيض المتوسط.", "cp1256"),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", "tis-620"),
    ],
)
def test_an_undeclared_encoding_is_guessed_and_named(tmp_path: Path, text: str, encoding: str) -> None:
    write(tmp_path, {"a.txt": text.encode(encoding)})
    found = read(tmp_path, "a.txt")
    assert (found.text, found.fields["encoding_basis"]) == (text, "guessed")
    assert text.encode(found.fields["encoding"]) == text.encode(encoding)


@pytest.mark.parametrize(
    ("name", "head"),
    [("a.html", '<meta charset="iso-8859-2">'), ("a.txt", '<?xml version="1.0" encoding="ISO-8859-2"?>')],
)
def test_a_declared_encoding_is_used(tmp_path: Path, name: str, head: str) -> None:
    write(tmp_path, {name: f"{head}\n<p>Žluť</p>\n".encode("iso-8859-2")})
    found = read(tmp_path, name)
    assert "Žluť" in found.text and found.fields["encoding_basis"] == "declared"


def test_a_given_encoding_is_that_of_files_that_are_not_utf_8(tmp_path: Path) -> None:
    text = "Şu anda İstanbul'da yağmur yağıyor."
    write(
        tmp_path,
        {"a.txt": text.encode("cp1254"), "b.txt": text.encode(), "c.txt": "富士山".encode("iso2022_jp")},
    )
    assert [read(tmp_path, name, encoding="cp1254").text for name in ("a.txt", "b.txt")] == [text, text]
    assert read(tmp_path, "c.txt", encoding="iso-2022-jp").text == "富士山"
    write(tmp_path, {"d.txt": "größe".encode("utf-16-le")})
    assert read(tmp_path, "d.txt", encoding="utf-16-le").text == "größe"


def test_a_file_that_is_not_in_the_given_encoding_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"e.txt": b"\xff\x81\xfe"})
    found = source(tmp_path, encoding="shift_jis")
    (item,) = found.items()
    assert isinstance(item, SourceItem)
    left = answer(found, item)
    assert isinstance(left, Skipped) and "shift_jis" in left.reason


def test_an_encoding_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="utf-9"):
        source(tmp_path, encoding="utf-9")


@pytest.mark.parametrize(
    ("name", "data", "kind", "title"),
    [
        (
            "a.py",
            b'#!/usr/bin/python\n# Copyright X\n"""Reads things.\n\nMore."""\n',
            "python",
            "Reads things.",
        ),
        ("a.py", b"x = 1\n", "python", ""),
        ("a.rs", b"// SPDX-License-Identifier: MIT\n//! Auth for all.\nfn f() {}\n", "rust", "Auth for all."),
        ("a.go", b"// Package a does it.\npackage a\n", "go", "Package a does it."),
        ("a.c", b"/*\n * Copyright me\n */\n/* Reads. */\n", "c", "Reads."),
        ("a.h", b"#pragma once\nnamespace a {}\n", "cpp", ""),
        ("a.h", b"int f(void);\n", "c", ""),
        ("a.rs", b"#![allow(dead_code)]\nfn f() {}\n", "rust", ""),
        ("a.rb", b"# frozen_string_literal: true\n\n# Sends mail.\nclass A; end\n", "ruby", "Sends mail."),
        ("a.tsx", b"const a = <b/>;\n", "tsx", ""),
        ("a.sql", b"-- Orders of a day\nSELECT 1;\n", "sql", "Orders of a day"),
        ("a.md", b"text\n\n## The *Title* ##\n", "markdown", "The *Title*"),
        ("a.rst", b"=====\nTitle\n=====\n", "rst", "Title"),
        ("a.txt", b"# no title in plain text\n", "text", ""),
    ],
)
def test_kinds_and_titles(tmp_path: Path, name: str, data: bytes, kind: str, title: str) -> None:
    write(tmp_path, {name: data})
    document = read(tmp_path, name)
    assert (document.kind, document.title) == (kind, title)


HTML = b"""<!doctype html><html><head><title>The  Page</title><style>p {}</style></head><body>
<nav><ul><li>One</li><li>Two</li></ul></nav>
<h1>Top &amp; more</h1><p>First
  paragraph<br>goes <b>on</b>.</p><h2>Sub</h2><pre># code
  stays
</pre><table><tr><td>a</td><td>b</td></tr></table><script>hidden()</script></body></html>"""


def test_html_becomes_text_with_headings(tmp_path: Path) -> None:
    write(tmp_path, {"a.html": HTML})
    document = read(tmp_path, "a.html")
    assert document.title == "The Page"
    assert document.text == (
        "- One\n- Two\n\n# Top & more\n\nFirst paragraph goes on.\n\n## Sub\n\n```\n# code\n  stays\n```\n\na | b\n"
    )


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<ul><li>One<li>Two</ul><p>a<p>b", "- One\n- Two\n\na\n\nb\n"),  # end tags left out
        ("<svg><title>icon</title></svg><p>a<template><p>b</template>", "a\n"),
        ("</pre></script>a<table><tr><td>1<td>2<tr><td>3", "a\n\n1 | 2\n3\n"),  # end tags of nothing
        ("<div>" * 100_000 + "deep", "deep\n"),
    ],
)
def test_careless_html_keeps_its_text(markup: str, text: str) -> None:
    assert html_to_text(markup) == (text, "")


def pdf(text: str, password: str = "") -> bytes:
    """A one-page PDF with one line of text, made by hand, and encrypted by pypdf where asked."""
    from pypdf import PdfReader, PdfWriter

    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    out += (
        b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (table, len(out))
    )
    if not password:
        return out
    writer = PdfWriter(clone_from=PdfReader(BytesIO(out)))
    writer.encrypt(password, algorithm="RC4-128")
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


def test_pdf_text_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.pdf": pdf("PROBABLE CAUSE")})
    document = read(tmp_path, "a.pdf")
    assert (document.kind, document.text.strip()) == ("pdf", "PROBABLE CAUSE")


def test_pdfs_without_text_are_said(tmp_path: Path) -> None:
    write(tmp_path, {"scan.pdf": pdf(""), "locked.pdf": pdf("x", "secret"), "half.pdf": pdf("x")[:200]})
    reasons = skipped(tmp_path)
    assert "OCR" in reasons["scan.pdf"]
    assert "encrypted" in reasons["locked.pdf"]
    assert "damaged PDF" in reasons["half.pdf"]


def large_pdf(*streams: bytes) -> bytes:
    """A page whose content is many or large streams, compressed, after a line of text."""
    page = b"BT /F1 12 Tf 72 720 Td (The probable cause was ice.) Tj ET\n"
    parts = [zlib.compress(stream, 9) for stream in (page, *streams)]
    places = b" ".join(b"%d 0 R" % (5 + number) for number in range(len(parts)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents [%s] /Resources << /Font << /F1 4 0 R >> >> >>"
        % places,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *(b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(z), z) for z in parts),
    ]
    out = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % row for row in enumerate(objects, 1))
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\n%%%%EOF\n" % (len(objects) + 1)


@pytest.mark.parametrize(
    "streams", [(b" " * 76_000_000,), (b" ",) * 10_001], ids=["a stream of 76 MB", "10,002 streams"]
)
def test_a_sound_pdf_beyond_the_limits_of_pypdf_is_read(tmp_path: Path, streams: tuple[bytes, ...]) -> None:
    write(tmp_path, {"a.pdf": large_pdf(*streams)})
    document = read(tmp_path, "a.pdf")
    assert document.text == "The probable cause was ice."
    assert document.fields == {"reader": "pdfium"}


def uninstall(monkeypatch: pytest.MonkeyPatch, package: str, reader: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"bakeoff.plugins.readers.{reader}", raising=False)


def test_where_pdfium_is_not_installed_pypdf_reads_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.pdf": pdf("PROBABLE CAUSE")})
    uninstall(monkeypatch, "pypdfium2", "pdfium")
    document = read(tmp_path, "a.pdf")
    assert (document.text.strip(), document.fields) == ("PROBABLE CAUSE", {"reader": "pypdf"})


def test_without_a_reader_a_pdf_is_skipped_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.pdf": pdf("x")})
    uninstall(monkeypatch, "pypdfium2", "pdfium")
    uninstall(monkeypatch, "pypdf", "pypdf")
    assert skipped(tmp_path) == {"a.pdf": "pdfium needs pypdfium2: pip install 'bakeoff[pdfium]'"}


@pytest.mark.parametrize(("name", "message"), [("none", "does not exist"), ("file", "is a file")])
def test_a_missing_folder_is_named(tmp_path: Path, name: str, message: str) -> None:
    write(tmp_path, {"file": b"x"})
    with pytest.raises(CorpusError, match=message):
        list(source(tmp_path / name).items())


def test_a_name_that_is_no_unicode_is_said(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.py")).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert list(skipped(tmp_path)) == ["bad\\udcff.py"]


def test_an_unknown_parameter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        source(tmp_path, suffixes=["py"])
