"""Tables: the same rows in every format, and errors that name the file and the remedy."""

from __future__ import annotations

import datetime
import gzip
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from bakeoff.corpus.tables import as_text, join_text, open_table, row_files, table_version
from bakeoff.corpus.tables.open_table import open_here
from bakeoff.corpus.tables.places import TablePlace
from bakeoff.errors import DataError

ROWS: list[dict[str, Any]] = [
    {"id": "007", "title": 'Größe; "two"\nlines', "day": "2026-05-01"},
    {"id": "8", "title": None, "day": "2026-05-02"},
]
ARROW = pa.Table.from_pylist(ROWS)


def text_of(path: Path | str, *columns: str, **options: str) -> list[dict[str, str | None]]:
    """Every row as texts."""
    table = open_table(path, **options)
    wanted = columns or table.columns
    batches = list(table.batches(wanted))
    rows = [
        row
        for batch in batches
        for row in zip(*(as_text(batch.column(n), n).to_pylist() for n in wanted), strict=True)
    ]
    assert table.rows in (None, len(rows))
    return [dict(zip(wanted, row, strict=True)) for row in rows]


def write_csv(path: Path, mark: str = ",") -> None:
    cells = [["id", "title", "day"], *([row["id"], row["title"] or "", row["day"]] for row in ROWS)]
    lines = [mark.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")


def write_excel(path: Path) -> None:
    """A workbook with inline texts, as few bytes of the format as a reader needs."""
    rows = [list(ROWS[0]), *(list(row.values()) for row in ROWS)]
    cells = "".join(
        "<row>" + "".join(
            f'<c t="inlineStr"><is><t xml:space="preserve">{str(cell or "").replace("<", "&lt;")}</t></is></c>' for cell in row
        ) + "</row>"
        for row in rows
    )  # fmt: skip
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Tickets" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, text in parts.items():
            book.writestr(name, text)


def write_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE tickets (id TEXT, title TEXT, day TEXT)")
        database.executemany("INSERT INTO tickets VALUES (?, ?, ?)", [tuple(row.values()) for row in ROWS])


def write_stream(path: Path) -> None:
    with pa.ipc.new_stream(str(path), ARROW.schema) as writer:
        writer.write_table(ARROW)


def write_dataset(path: Path) -> None:
    """What `Dataset.save_to_disk` leaves."""
    path.mkdir()
    write_stream(path / "data-00000-of-00001.arrow")
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))


def test_a_dataset_without_its_files_names_what_is_missing(tmp_path: Path) -> None:
    write_dataset(tmp_path / "dataset")
    (tmp_path / "dataset" / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(DataError, match=r"lacks 1 of the 1 Arrow files .* data-00000-of-00001\.arrow"):
        open_table(tmp_path / "dataset")
    (tmp_path / "dataset" / "state.json").unlink()
    with pytest.raises(DataError, match=r"has no state\.json"):
        open_table(tmp_path / "dataset")


def write_lines(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


WRITERS: dict[str, Callable[[Path], object]] = {
    "t.csv": write_csv,
    "semicolons.csv": lambda path: write_csv(path, ";"),
    "t.tsv": lambda path: write_csv(path, "\t"),
    "t.jsonl": write_lines,
    "t.json": lambda path: path.write_text(json.dumps({"rows": ROWS})),
    "t.parquet": lambda path: pq.write_table(ARROW, path),
    "t.feather": lambda path: pyarrow.feather.write_feather(ARROW, str(path)),
    "stream.arrow": write_stream,
    "t.xlsx": write_excel,
    "t.db": write_sqlite,
    "dataset": write_dataset,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    assert text_of(path) == ROWS
    assert text_of(path, "day", "id") == [{"day": row["day"], "id": row["id"]} for row in ROWS]
    assert len(table_version(path)) == 32


def test_packed_files_patterns_and_urls(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"id": 1}\n'))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"id": 2}\n'))
    both = [{"id": "1"}, {"id": "2"}]
    assert text_of(tmp_path / "*.jsonl.gz") == both
    url = f"{tmp_path.as_uri()}/*.jsonl.gz"
    assert text_of(url) == both
    version = table_version(url)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"id": 3}\n'))
    assert table_version(url) != version


def test_a_split_a_sheet_and_a_table_are_chosen_by_part(tmp_path: Path) -> None:
    splits = tmp_path / "splits"
    splits.mkdir()
    write_dataset(splits / "train")
    (splits / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert text_of(splits, part="train") == ROWS
    with pytest.raises(DataError, match="`part`"):
        open_table(splits)
    write_sqlite(tmp_path / "two.db")
    with sqlite3.connect(tmp_path / "two.db") as database:
        database.execute("CREATE TABLE other (x)")
    with pytest.raises(DataError, match=r"2.*`part`"):
        open_table(tmp_path / "two.db")
    assert text_of(tmp_path / "two.db", part="tickets") == ROWS
    write_excel(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=r'"tickets".*`part`'):
        open_table(tmp_path / "t.xlsx", part="tickets")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"id,id\n1,2\n", 'two columns named "id"'),
        ("t.csv", b"id,title\n1,2,3\n", "Expected 2 columns, got 3"),
        ("t.csv", b"id,title\n1,Gr\xf6\xdfe\n", "not UTF-8.*`encoding`"),
        ("t.jsonl", b'{"id": 1}\n{\n', "line 2 is not JSON"),
        ("t.jsonl", b"[1]\n", "line 1 is a list"),
        ("t.jsonl", b'{"id": {"a": 1}}\n', 'column "id" holds a dict'),
        ("t.json", b'{"a": 1}', "not a list of objects"),
        ("t.parquet", b"PAR1 not really", "cannot be read"),
        ("t.arrow", b"not arrow at all", "cannot be read"),
        ("t.xlsx", b"not a workbook", "not a workbook"),
        ("t.db", b"not a database, " * 100, "not an SQLite file"),
        ("t.xml", b"<a/>", "not a table by its name"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_an_error_that_names_it(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as found:
        text_of(path)
    assert name in str(found.value)


def test_a_workbook_whose_directory_is_damaged_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    write_excel(path)
    directory = path.read_bytes()
    path.write_bytes(directory.replace(b"PK\x01\x02", b"PK\x01\x03"))
    with pytest.raises(DataError, match=r"t\.xlsx"):
        open_table(path)


def test_another_encoding_is_given(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("id,title\n1,Größe\n".encode("cp1252"))
    assert text_of(tmp_path / "t.csv", encoding="cp1252") == [{"id": "1", "title": "Größe"}]


def test_a_column_that_is_not_there_is_named_with_its_neighbours(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match='"titel"'):
        text_of(tmp_path / "t.csv", "titel")


def test_cells_that_mix_types_are_texts(tmp_path: Path) -> None:
    values = [1, 2.0, 2.5, "3", True, None]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"x": value}) + "\n" for value in values))
    assert [row["x"] for row in text_of(tmp_path / "t.jsonl")] == ["1", "2", "2.5", "3", "true", None]


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "LINE_BYTES", 10)
    (tmp_path / "t.jsonl").write_text('{"id": "longer"}\n')
    with pytest.raises(DataError, match="line 1"):
        open_table(tmp_path / "t.jsonl")
    monkeypatch.setattr(row_files, "UNPACKED_BYTES", 10)
    write_excel(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=r"MB unpacked"):
        open_here(TablePlace(tmp_path / "t.xlsx"))


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([1.0, None, 3.0]), ["1", None, "3"]),
        (pa.array([1.5, float("nan")]), ["1.5", "nan"]),
        (pa.array([datetime.date(2026, 5, 1)]), ["2026-05-01"]),
        (pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        (pa.array([True]), ["true"]),
        (pa.array([None, None]), [None, None]),
    ],
)
def test_columns_as_text(values: pa.Array, texts: list[str | None]) -> None:
    assert as_text(values, "x").to_pylist() == texts


def test_nested_columns_are_refused() -> None:
    with pytest.raises(DataError, match=r'column "tags" holds list'):
        as_text(pa.array([["a"]]), "tags")


def test_an_empty_cell_adds_no_separator() -> None:
    columns = [pa.array(["a", "", None]), pa.array(["b", "c", None], pa.large_string())]
    assert join_text(columns, "|").to_pylist() == ["a|b", "c", ""]
