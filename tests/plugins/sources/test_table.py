"""Sources of rows: documents, titles and fields of a table; what is wrong with one is an error or a skipped row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.config.plan import PluginSpec
from bakeoff.errors import CorpusError, DataError, UserError
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import ReadCorpus, Sample, count_documents, read_documents
from bakeoff.plugins.sources.sql import SqlParams, SqlSource
from bakeoff.plugins.sources.squad import SquadParams, SquadSource
from bakeoff.plugins.sources.table import TableParams, TableSource
from bakeoff.plugins.sources.trec import TrecParams, TrecSource
from bakeoff.storage.cache import Cache
from bakeoff.types import Skipped

TICKETS = """\
ticket,title,body,product,opened
T1,Router,loses wifi,router,2026-05-01
T2,,no title,modem,
T3,Camera,,camera,2026-05-03
"""
COLUMNS: dict[str, Any] = {"id": "ticket", "text": ["title", "body"], "fields": ["product", "opened"]}


def read(tmp_path: Path, plugin: Any, params: Any, sample: Sample | None = None) -> ReadCorpus:
    spec = PluginSpec("sources", plugin.__name__.removesuffix("Source").lower(), "", params)
    return read_documents(spec, plugin(params), StageContext(Cache(tmp_path / "cache")), sample)


def table(tmp_path: Path, content: str = TICKETS, **params: Any) -> ReadCorpus:
    (tmp_path / "t.csv").write_text(content)
    return read(tmp_path, TableSource, TableParams(table=tmp_path / "t.csv", **{**COLUMNS, **params}))


def test_rows_are_documents_with_title_and_fields(tmp_path: Path) -> None:
    found = table(tmp_path)
    rows = found.documents.select(["id", "title", "text", "fields", "kind"]).to_pylist()
    assert rows[0] == {
        "id": "T1",
        "title": "Router",
        "text": "Router\n\nloses wifi",
        "fields": '{"opened": "2026-05-01", "product": "router"}',
        "kind": "text",
    }
    assert [row["text"] for row in rows] == ["Router\n\nloses wifi", "no title", "Camera"]
    assert rows[1]["fields"] == '{"product": "modem"}'
    assert (found.fresh, found.reused) == (3, 0)


def test_a_table_that_did_not_change_is_taken_from_the_cache(tmp_path: Path) -> None:
    first, second = table(tmp_path), table(tmp_path)
    assert (second.fresh, second.reused) == (0, 3)
    assert second.documents.equals(first.documents) and second.fingerprint == first.fingerprint
    changed = table(tmp_path, TICKETS.replace("loses", "finds"))
    assert changed.fresh == 3 and changed.fingerprint != first.fingerprint
    assert changed.documents["version"].to_pylist()[1:] == first.documents["version"].to_pylist()[1:]
    other = table(tmp_path, fields=["product"])
    assert other.fresh == 3 and other.documents["fields"][0].as_py() == '{"product": "router"}'


def test_samples_are_nested(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ticket,body\n" + "".join(f"{i},text {i}\n" for i in range(50)))
    params = TableParams(table=tmp_path / "t.csv", id="ticket", text=["body"])
    small, large = (
        read(tmp_path, TableSource, params, Sample(n, 7)).documents["id"].to_pylist() for n in (5, 20)
    )
    assert len(small) == 5 and set(small) < set(large) and len(large) == 20
    assert count_documents(TableSource(params)) == 50


def test_rows_without_text_and_with_too_much_are_skipped_by_name(tmp_path: Path) -> None:
    long = "x" * 2_000
    found = table(tmp_path, f"{TICKETS}T4,, ,modem,\nT5,{long},,modem,\n", max_mb=0.001)
    assert set(found.skipped) == {
        Skipped("T4", "empty: contains no text", has_text=False),
        Skipped("T5", "too large: 0.0 MB, max_mb is 0.001"),
    }
    assert found.documents.num_rows == 3


@pytest.mark.parametrize(
    ("text", "params", "message"),
    [
        (TICKETS, {"id": "tiket"}, r'no column "tiket". Did you mean ticket'),
        (TICKETS, {"text": ["title", "text"]}, 'no column "text"'),
        (f"{TICKETS},a,b,c,\n", {}, 'column "ticket": row 4 has no id'),
        (
            f"{TICKETS}T1,a,b,c,\nT1,d,,,\n",
            {},
            "id 'T1' occurs 3 times, first as documents 1 and 4; no other does",
        ),
        (
            "ticket,title,body,product,opened\n",
            {},
            "no document was found by the source table. It has no row",
        ),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        table(tmp_path, text, **params)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path, TableSource, TableParams(table=tmp_path / "none.csv", **COLUMNS))


def test_smart_and_trec_collections(tmp_path: Path) -> None:
    (tmp_path / "CISI.ALL").write_text(
        ".I 1\n.T\n18 Editions of the\nDewey\n.A\nComaromi, J.P.\n.W\nThe present study\nis a history.\n.X\n1 5 1\n.I 2\n.T\nTwo\n.W\nx\n"
    )
    smart = read(tmp_path, TrecSource, TrecParams(trec=tmp_path / "CISI.ALL")).documents.to_pylist()
    assert [(row["id"], row["title"]) for row in smart] == [("1", "18 Editions of the Dewey"), ("2", "Two")]
    assert smart[0]["text"] == "18 Editions of the\nDewey\n\nThe present study\nis a history."
    (tmp_path / "fr.trec").write_bytes(
        b"<DOC>\n<DOCNO> FR-1 </DOCNO>\n<HEADLINE>A &amp; B</HEADLINE>\n<TEXT>Caf\xe9 <b>open</b></TEXT>\n</DOC>\n"
    )
    (row,) = read(
        tmp_path, TrecSource, TrecParams(trec=tmp_path / "*.trec", encoding="latin-1")
    ).documents.to_pylist()
    assert (row["id"], row["title"], row["text"]) == ("FR-1", "A & B", "A & B\nCafé open")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<DOC>\nno number\n</DOC>\n", "no <DOCNO>"),
        ("<DOC>\n<DOCNO>1</DOCNO>\n", "cut off"),
        ("hello\n", "neither <DOC>"),
    ],
)
def test_damaged_collections(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.trec").write_text(text)
    with pytest.raises(DataError, match=message):
        read(tmp_path, TrecSource, TrecParams(trec=tmp_path / "a.trec"))


def test_squad_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text(
        '{"data": [{"title": "Oxygen", "paragraphs": [{"context": "A gas."}, {"context": "It burns."}]}]}'
    )
    rows = read(tmp_path, SquadSource, SquadParams(squad=path)).documents.to_pylist()
    assert [(row["id"], row["text"]) for row in rows] == [("Oxygen#1", "A gas."), ("Oxygen#2", "It burns.")]
    assert rows[0]["fields"] == '{"article": "Oxygen"}'
    path.write_text('{"data": [{"paragraphs": [{}]}]}')
    with pytest.raises(DataError, match="SQuAD's"):
        read(tmp_path, SquadSource, SquadParams(squad=path))
    with pytest.raises(CorpusError, match="does not exist"):
        SquadSource(SquadParams(squad=tmp_path / "none.json"))


def test_a_password_does_not_belong_into_the_experiment() -> None:
    with pytest.raises(ValueError, match="contains a password"):
        SqlParams(url="postgresql://me:secret@localhost/db", query="SELECT 1", id="id", text=["body"])


def sql(url: str, query: str) -> SqlSource:
    return SqlSource(SqlParams(url=url, query=query, id="id", text=["title", "body"], fields=["opened"]))


@pytest.mark.slow
def test_the_rows_of_a_postgresql_query(tmp_path: Path, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg
    from sqlalchemy.engine import make_url

    dsn = engine("pgvector")["BAKEOFF_PGVECTOR_DSN"]
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS tickets")
        connection.execute(
            "CREATE TABLE tickets (id bigint, title text, body text, opened timestamptz, price numeric(8, 2), "
            "key uuid DEFAULT '00000000-0000-0000-0000-00000000000a', picture bytea DEFAULT '\\x00', more jsonb)"
        )
        connection.execute(
            "INSERT INTO tickets SELECT n, 'Ticket ' || n, 'Body ' || n, '2026-05-01T00:00:00Z'::timestamptz "
            "+ n * interval '1 day', n / 2.0 FROM generate_series(1, 20000) n"
        )
    at = make_url(dsn)
    url = f"postgresql://{at.username}@{at.host}:{at.port}/{at.database}"
    monkeypatch.setenv("BAKEOFF_SQL_PASSWORD", "wrong")
    with pytest.raises(DataError, match="BAKEOFF_SQL_PASSWORD"):
        list(sql(url, "SELECT * FROM tickets").batches())
    if at.password:
        monkeypatch.setenv("BAKEOFF_SQL_PASSWORD", at.password)
    source = sql(url, "SELECT * FROM tickets ORDER BY id")
    found = read(tmp_path, type(source), source._params)
    assert found.documents.num_rows == 20_000 and found.skipped == ()
    first = found.documents.slice(0, 1).to_pylist()[0]
    assert (first["id"], first["text"]) == ("1", "Ticket 1\n\nBody 1")
    assert "2026-05-02" in first["fields"]
    rich = SqlParams(
        url=url, query="SELECT * FROM tickets LIMIT 2", id="id", text=["body"], fields=["price", "key"]
    )
    (batch,) = SqlSource(rich).batches()
    assert batch.fields["price"].to_pylist() == ["0.50", "1.00"]
    assert batch.fields["key"].to_pylist()[0].endswith("-00000000000a")
    with pytest.raises(DataError, match="picture"):
        list(SqlSource(rich.model_copy(update={"text": ["picture"]})).batches())
    with pytest.raises(DataError, match='"opened"'):
        list(sql(url, "SELECT id, title, body FROM tickets").batches())
    with pytest.raises(DataError, match='"nothing"'):
        list(sql(url, "SELECT * FROM nothing").batches())
