"""What retrievers of libraries and of the user's own code make of answers."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import toolkit

from bakeoff import registry
from bakeoff.errors import ConsentError, RetrieverError
from bakeoff.testing.retrievers import DOCUMENTS
from bakeoff.types import RetrievedRow

FOLDER = Path(__file__).parent
QUESTION = "where does the cat sleep?"


def made(name: str, **params: Any) -> Any:
    plugin = registry.load("retrievers", name)
    return plugin(plugin.Params(folder=FOLDER, **params))


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_ALLOW_CODE", "toolkit")


@pytest.mark.usefixtures("allowed")
class TestRows:
    def test_a_function_of_mappings_pairs_or_texts(self) -> None:
        (first, *_) = made("python", call="toolkit:retrieve").search(QUESTION, 2, ())
        assert first == RetrievedRow("pets.md", None, None, toolkit.TEXTS["pets.md"], 2.0)
        (pair, *_) = made("python", call="toolkit:within").search(QUESTION, 1, ())
        assert pair == RetrievedRow("pets.md", score=2.0)
        assert made("python", call="toolkit:within").takes_filters
        (text, *_) = made("python", call="toolkit:texts_only").search(QUESTION, 1, ())
        assert text == RetrievedRow(text=toolkit.TEXTS["pets.md"])

    def test_an_answer_that_is_not_a_list(self) -> None:
        with pytest.raises(RetrieverError, match="int"):
            list(made("python", call="toolkit:number").search(QUESTION, 1, ()))

    @pytest.mark.parametrize("call", ["nowhere:f", "toolkit:nothing"])
    def test_code_that_is_not_there(self, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("BAKEOFF_ALLOW_CODE", "toolkit,nowhere")
        with pytest.raises(RetrieverError, match=call.split(":")[0]):
            made("python", call=call)

    @pytest.mark.parametrize("name", ["langchain", "llamaindex"])
    def test_characters_of_chunks(self, name: str) -> None:
        (first, *_) = made(name, object=f"toolkit:{name}").search(QUESTION, 3, ())
        text = toolkit.TEXTS["pets.md"]
        assert first[:4] == ("pets.md", 4, len(text), text[4:])

    def test_mteb_indexes_the_corpus_first(self) -> None:
        retriever = made("mteb", object="toolkit:MtebWords")
        retriever.index(iter(DOCUMENTS))
        assert [row[0] for row in retriever.search(QUESTION, 2, ())] == ["pets.md", "tax.md"]

    def test_pyterrier_orders_rows_by_rank(self) -> None:
        rows = list(made("pyterrier", object="toolkit:PandasTransformer").search(QUESTION, 3, ()))
        assert [(row.document, row.score) for row in rows] == toolkit.ranked(QUESTION, 3)

    def test_an_object_without_the_method(self) -> None:
        with pytest.raises(RetrieverError, match="invoke"):
            made("langchain", object="toolkit:MtebWords")


def test_code_is_imported_only_with_consent() -> None:
    with pytest.raises(ConsentError, match="--allow-code toolkit"):
        made("python", call="toolkit:retrieve")
