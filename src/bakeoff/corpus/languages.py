"""Languages with known words, stop words and sentences, and language detection.

A script used by one language decides at once. Languages that share a script are distinguished by their most
common words; texts with few of them, such as source code without comments, have no language.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

LEAST_SHARE = 0.08
"""Minimum share of common words in a text of its language; running text has about a third."""
LEAD = 1.15
"""Minimum ratio of common words between the best language and the next."""
SAMPLE = 300
"""Number of documents to detect the language of a corpus."""
SAMPLE_CHARACTERS = 3000
KANA_SHARE = 0.05
"""Share of kana among Han and kana from which a text is Japanese."""

_SCRIPTS = {
    "latin": "A-Za-z\u00c0-\u024f",
    "cyrillic": "\u0400-\u04ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
    "greek": "\u0370-\u03ff",
    "hangul": "\uac00-\ud7af\u1100-\u11ff",
    "kana": "\u3041-\u30ff",
    "han": "\u3400-\u4dbf\u4e00-\u9fff",
    "thai": "\u0e00-\u0e7f",
}
_LETTERS = {name: re.compile(f"[{span}]") for name, span in _SCRIPTS.items()}
_WORD = re.compile(r"[^\W\d_]+(?:[\u0300-\u036f\u064b-\u0652\u0900-\u097f]+[^\W\d_]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language under the name engines use; `common` are words in nearly every text.

    `abbreviations` end with a full stop inside sentences; `ordinals` is whether numbers do ("3. Oktober").
    `letters` are required: without them a text is in another language of its script.
    """

    code: str
    name: str
    script: str = "latin"
    common: frozenset[str] = frozenset()
    abbreviations: frozenset[str] = frozenset()
    ordinals: bool = False
    letters: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """Display name: German."""
        return self.name.capitalize()


def _language(
    code: str,
    name: str,
    common: str = "",
    short: str = "",
    *,
    script: str = "latin",
    ordinals: bool = False,
    letters: str = "",
) -> Language:
    return Language(
        code=code,
        name=name,
        script=script,
        common=frozenset(common.split()),
        abbreviations=frozenset(short.split()),
        ordinals=ordinals,
        letters=frozenset(letters),
    )


_KNOWN = (
    _language(
        "en",
        "english",
        "the of and to in is that for it as was with be by on not this are or from at which but have an what who when "
        "where why how did does has were can their",
    ),
    _language(
        "de",
        "german",
        "der die und den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus wird wie "
        "was wer wo wann warum welche welcher welches welchen wurde wurden war hat sind durch",
        "bzw ca dgl Dr evtl ggf Hr Fr Hrsg inkl Jh Mio Mrd Nr Prof S Str St usw vgl Abb Abs Art Bd lat engl geb gest",
        ordinals=True,
    ),
    _language(
        "fr",
        "french",
        "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont avec aux cette "
        "quel quelle quels comment où quand qui",
        "M MM Mme Mlle Dr Pr St Ste av apr env ex p pp vol fig cf etc",
    ),
    _language(
        "es",
        "spanish",
        "de la que el en y los del se las por un para con no una su al lo como más pero sus es son fue entre "
        "qué cuál cuándo dónde cómo quién",
        "Sr Sra Srta Dr Dra Ud Uds Av núm pág págs etc aprox art ej p vol fig",
    ),
    _language(
        "it",
        "italian",
        "di e il la che in un per è una del non sono con si da come le dei gli alla della nel più anche delle",
        "Sig Dott Prof ecc pag art es ca vol fig sec",
    ),
    _language(
        "pt",
        "portuguese",
        "de o que e do da em um para com não uma os no se na por mais as dos como mas ao das à são foi",
        "Sr Sra Dr Dra Prof etc pág art ex vol fig séc núm",
    ),
    _language(
        "nl",
        "dutch",
        "de van een het en in is dat op te zijn met voor niet aan er om ook als bij door naar dit maar worden",
        "bv bijv dhr mevr dr drs prof ca enz nr blz resp vgl",
    ),
    _language(
        "da",
        "danish",
        "og i at det er en til af på for med der de som ikke den et har fra ved blev også efter eller",
        "bl ca dvs fx hr fru nr osv jf pga st",
        ordinals=True,
    ),
    _language(
        "no",
        "norwegian",
        "og i det er på som en til av for med at ikke de har den et om fra ble også etter eller ved",
        "bl ca dvs hr fru nr osv jf pga st",
        ordinals=True,
    ),
    _language(
        "sv",
        "swedish",
        "och i att det som en på är av för med den till inte de har om ett men var från eller också efter",
        "bl ca dvs hr fru nr osv jfr pga t ex kl",
    ),
    _language(
        "fi",
        "finnish",
        "ja on ei että se oli ovat mutta kun myös hän joka tai niin kuin ole sen hänen jotka sekä",
        "esim ks mm n noin ns nro ts v",
        ordinals=True,
    ),
    _language(
        "hu",
        "hungarian",
        "a az és hogy nem is egy ez volt csak már mint meg vagy azt ezt van de el ki",
        "dr ill kb pl sz stb ún vö",
        ordinals=True,
    ),
    _language(
        "ro",
        "romanian",
        "de și în la cu că nu pe un este din care mai sau pentru au fost prin o al ale",
        "dl dna dr nr pag str etc",
    ),
    _language(
        "tr",
        "turkish",
        "ve bir bu da de için ile çok daha gibi olarak olan en ne ama veya her kadar sonra",
        "Dr Prof vb vs bkz yy",
        ordinals=True,
    ),
    _language(
        "pl",
        "polish",
        "i w na z do nie się to że jest o jak po od za przez dla są oraz był który",
        "dr itd itp np ok prof r tzw ul św",
    ),
    _language(
        "cs",
        "czech",
        "a v se na je že s z do i o to k ve pro za by od jako které není byl jsou",
        "apod atd č dr např str tj tzv",
        ordinals=True,
    ),
    _language(
        "ru",
        "russian",
        "и в не на что с по как из к у за от это для при но а его был или также кто "
        "какой какая какие какое когда где почему сколько чем были",
        "г гг в вв др им ул стр рис см тыс млн млрд руб проф акад",
        script="cyrillic",
    ),
    _language(
        "uk",
        "ukrainian",
        "і в не на що з та до як за у від це для або є був його про",
        script="cyrillic",
        letters="іїєґ",
    ),
    _language(
        "ar",
        "arabic",
        "في من على إلى أن هذا هذه التي الذي عن مع كان كانت لا ما هو هي أو بين بعد قبل متى أين كم كيف لماذا",
        script="arabic",
    ),
    _language(
        "fa",
        "persian",
        "و در به از که این را با است برای آن یک تا شد می",
        script="arabic",
        letters="پچژگکی",
    ),
    _language(
        "hi",
        "hindi",
        "है के में की का से को और पर ने यह हैं था थे थी कि एक जो लिए भी इस किया गया",
        script="devanagari",
    ),
    _language("el", "greek", "και το να του η της με που την από για είναι τα ο", script="greek"),
    _language("zh", "chinese", script="han"),
    _language("ja", "japanese", script="kana"),
    _language("ko", "korean", script="hangul"),
    _language("th", "thai", script="thai"),
)
LANGUAGES = {one.name: one for one in _KNOWN}
_CODES = {one.code: one for one in _KNOWN}


def find_language(name: str) -> str:
    """Name of a language from its name or two-letter code; raises ValueError if unknown."""
    key = name.strip().lower()
    found = LANGUAGES.get(key) or _CODES.get(key)
    if found is None:
        near = difflib.get_close_matches(key, LANGUAGES, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        known = ", ".join(f"{one.name} ({one.code})" for one in _KNOWN)
        raise ValueError(f"{name!r} is not a known language.{hint} Known: {known}")
    return found.name


LanguageName = Annotated[str, AfterValidator(find_language)]
"""A language in a user's file, as its name in `LANGUAGES`."""


def detect_language(texts: Sequence[str]) -> str:
    """Name of the language of most texts, from the beginning of each; '' if undetected."""
    sample = " ".join(text[:SAMPLE_CHARACTERS] for text in texts)
    script = main_script(sample)
    found = set(sample.lower())
    own = [one for one in _KNOWN if one.script == script and (not one.letters or one.letters & found)]
    if not own:
        return ""
    if not own[0].common:
        return own[0].name
    words = [word.lower() for word in _WORD.findall(sample)]
    if script == "latin":  # single letters are names in formulas and source code
        words = [word for word in words if len(word) > 1]
    counts = Counter({one.name: sum(word in one.common for word in words) for one in own})
    (first, most), *rest = counts.most_common(2)
    second = rest[0][1] if rest else 0
    return first if most >= max(LEAST_SHARE * len(words), LEAD * second, 1) else ""


def main_script(text: str) -> str:
    """Script of most letters; Han mixed with kana is Japanese."""
    found = Counter({name: len(letters.findall(text)) for name, letters in _LETTERS.items()})
    if found["kana"] > KANA_SHARE * (found["han"] + found["kana"]):
        found["kana"] += found.pop("han")
    script, letters = found.most_common(1)[0]
    return script if letters else ""
