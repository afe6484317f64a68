"""The language of texts, and sentences with the abbreviations of their language."""

from __future__ import annotations

import pytest

from bakeoff.corpus.languages import LANGUAGES, detect_language, find_language
from bakeoff.corpus.segmentation import sentences

TEXTS = {
    "english": "The committee was asked to look at the water of the river and at the wells that are near it.",
    "german": "Der Ausschuss wurde gebeten, sich das Wasser des Flusses und die Brunnen in der Nähe anzusehen.",
    "french": "Le comité est chargé d'examiner les eaux de la rivière et des puits qui se trouvent dans la vallée.",
    "spanish": "El comité estudia el agua del río y los pozos que están en el valle, por encargo de la ciudad.",
    "italian": "Il comitato esamina le acque del fiume e i pozzi che sono nella valle, con una relazione per la città.",
    "dutch": "De commissie is gevraagd om het water van de rivier en de putten die er zijn te onderzoeken.",
    "russian": "Комиссия проверила воду в реке и колодцы, которые находятся в долине, но это не всё.",
    "ukrainian": "Комісія перевірила воду в річці та криниці, що є в долині, але це не все.",
    "arabic": "طلبت المدينة من اللجنة أن تفحص مياه النهر والآبار التي تقع في الوادي مع تقرير عن كل بئر.",
    "hindi": "समिति से कहा गया है कि वह नदी के पानी और घाटी में बने कुओं की जाँच करे।",
    "chinese": "委员会受命检查河水和山谷里的水井，并提交一份报告。",
    "japanese": "委員会は川の水と谷にある井戸を調べて、報告書を提出するように頼まれた。",
    "korean": "위원회는 강물과 골짜기에 있는 우물을 조사하고 보고서를 내도록 요청받았다.",
    "thai": "คณะกรรมการได้รับมอบหมายให้ตรวจสอบน้ำในแม่น้ำและบ่อน้ำในหุบเขา",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_sentence_has_its_language(name: str) -> None:
    assert detect_language([TEXTS[name]]) == name


@pytest.mark.parametrize("text", ["", "12 34", "x = foo(bar); y += baz[qux]", "שלום עולם"])
def test_texts_without_common_words_have_no_language(text: str) -> None:
    assert detect_language([text]) == ""


def test_words_that_languages_share_are_not_enough() -> None:
    """Two short words of this question are Ukrainian as well as Russian; no letter of it is Ukrainian only."""
    assert detect_language(["До каких пор они продолжали использовать французские имена?"]) != "ukrainian"
    assert detect_language(["До яких пір вони не мали імен?"]) == "ukrainian"


def test_the_language_is_that_of_most_texts() -> None:
    assert detect_language([TEXTS["german"]] * 8 + [TEXTS["french"]]) == "german"


def test_a_language_is_found_by_name_and_code() -> None:
    assert {find_language(one.code) for one in LANGUAGES.values()} == {*LANGUAGES}
    assert find_language(" German ") == "german"
    with pytest.raises(ValueError, match="mean german"):
        find_language("germn")


CUT = {
    "german": ("Am 3. Oktober kam z. B. Dr. Müller bzw. sein Bruder. Danach war es 1990. Er ging.", 3),
    "french": ("M. Dupont habite av. Foch. Il y est né en 1990. C'est vrai.", 3),
    "spanish": ("La Sra. Díaz vive en la Av. Mayor. Nació en 1990. Es verdad.", 3),
    "russian": ("Он жил на ул. Мира, т. е. в центре. Потом уехал. Так было.", 3),
}


@pytest.mark.parametrize("language", CUT)
def test_abbreviations_and_ordinals_of_a_language_end_no_sentence(language: str) -> None:
    text, count = CUT[language]
    spans = list(sentences(text, language))
    assert "".join(text[start:end] for start, end in spans) == text
    assert len(spans) == count < len(list(sentences(text)))


def test_a_blank_line_ends_a_sentence_in_every_language() -> None:
    text = "Siehe S.\n\nDer Rest."
    assert len(list(sentences(text, "german"))) == 2
