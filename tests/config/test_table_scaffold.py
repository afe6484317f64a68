"""What init proposes for tables."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bakeoff.config.table_scaffold import inspect_questions, inspect_table
from bakeoff.errors import CorpusError, DataError

TICKETS = """\
row,ticket_id,subject,body,product,opened,score
1,T-1,Router loses wifi,The router loses its wifi every night at about three,router,2026-05-01,3
1,T-2,Modem is slow,The modem is slow since the update of last Tuesday,modem,2026-05-02,4
1,T-3,Camera is blank,The camera shows a blank picture after it was moved,router,2026-05-02,5
1,T-4,Camera is loud,The camera makes a noise that the whole house can hear,router,2026-05-03,5
"""
QUESTIONS = """\
nr,what users ask,answer,topic
1,why is my wifi gone at night,T-1,wifi
2,update made the modem slow,T-2,speed
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_columns_of_documents(tmp_path: Path) -> None:
    found = inspect_table(write(tmp_path, "tickets.csv", TICKETS))
    assert (found.id, found.text) == ("ticket_id", ("subject", "body"))
    assert found.fields == ("row", "product", "opened", "score") and found.dates == ("opened",)
    assert found.titles[0] == ("T-1", "Router loses wifi") and found.rows == 4
    written = yaml.safe_load(found.corpus_text(tmp_path).replace("\n  ", "\n"))
    assert written["table"] == "tickets.csv" and written["text"] == ["subject", "body"]


def test_columns_of_questions_are_found_by_their_values(tmp_path: Path) -> None:
    documents = inspect_table(write(tmp_path, "tickets.csv", TICKETS))
    found = inspect_questions(write(tmp_path, "q.csv", QUESTIONS), documents)
    assert (found.text, found.document, found.known) == ("what users ask", "answer", 1.0)
    half = inspect_questions(write(tmp_path, "h.csv", QUESTIONS.replace("T-2", "T-9")), documents)
    assert half.known == 0.5
    with pytest.raises(DataError, match=r"n\.csv.*ticket_id.*tickets\.csv"):
        inspect_questions(write(tmp_path, "n.csv", "question,answer\nwhy,X-1\n"), documents)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nx,y\nx,z\nx,y\n", "none can be the id"),
        ("id\n1\n2\n", "holds text"),
        ("id,text\n", "has no row"),
    ],
)
def test_tables_that_are_not_of_documents(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        inspect_table(write(tmp_path, "t.csv", text))
