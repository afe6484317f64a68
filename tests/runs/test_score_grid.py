"""Questions by the language they are in."""

from bakeoff.runs.score_grid import GridRow, _with_languages

GERMAN = [f"Was ist die Aufgabe der {number}. Kommission und wie wird sie bezahlt?" for number in range(5)]
RUSSIAN = [f"Что это и как оно было сделано в {number} году?" for number in range(5)]


def languages(*texts: str) -> list[str]:
    rows = [
        GridRow(id=str(number), text=text, category="", difficulty="", negative=False, synthetic=False)
        for number, text in enumerate(texts)
    ]
    return [row.tags.get("language", "") for row in _with_languages(rows)]


def test_a_short_question_has_the_language_of_the_others_in_its_script() -> None:
    found = languages(*GERMAN, *RUSSIAN, "Глубина колодца?", "Brunnentiefe?")
    assert found == ["German"] * 5 + ["Russian"] * 5 + ["Russian", "German"]


def test_a_script_of_two_languages_decides_nothing() -> None:
    english = [f"What is the purpose of the {number} committee and who pays for it?" for number in range(5)]
    assert languages(*GERMAN, *english, "Brunnentiefe?")[-1] == ""


def test_questions_of_one_language_have_no_tag() -> None:
    assert set(languages(*GERMAN)) == {""}
