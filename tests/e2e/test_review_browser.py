"""The review page in a real browser: judged by keyboard, nothing lost, blind, and closed to other sites."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import MARKS, OWNED

from bakeoff.measures.labels import Label
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.pool import ReturnedPassage, ReviewItem, ReviewPool, item_id, write_pool
from bakeoff.review.review_folder import ReviewFolder, load_state
from bakeoff.runs.run import run

pytestmark = MARKS


class Served:
    """`bakeoff review serve` as a process of its own."""

    def __init__(self, *words: object, port: int = 0) -> None:
        self.command = [sys.executable, "-m", "bakeoff", "review", "serve", *map(str, words), "--no-browser"]
        self.start(port)

    def start(self, port: int) -> None:
        self.process = subprocess.Popen(
            [*self.command, "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert self.process.stdout
        said = []
        for line in self.process.stdout:
            said.append(line)
            if found := re.search(r"(http://127\.0\.0\.1:(\d+)/\?token=[\w-]+)", line):
                self.address, self.port = found[1], int(found[2])
                return
        pytest.fail("".join(said))

    def end(self) -> str:
        """Ctrl-C; gives what it said."""
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=120)
        return out

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def begin(*words: object, **more: int) -> Served:
        started.append(Served(*words, **more))
        return started[-1]

    yield begin
    for one in started:
        one.kill()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens the page in a browser of its own; an error in it, or a request elsewhere, fails the test."""
    contexts, trouble = [], []

    def begin(address: str, reviewer: str = "ann", *, calm: bool = True, **more: Any) -> Any:
        context = browser.new_context(viewport={"width": 1280, "height": 860}, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on(
            "request",
            lambda r: (
                None if r.url.startswith((address.partition("?")[0], "data:")) else trouble.append(r.url)
            ),
        )
        if calm:
            page.on("console", lambda m: trouble.append(m.text) if m.type == "error" else None)
        page.goto(f"{address}&reviewer={reviewer}" if reviewer else address)
        page.wait_for_selector("#work:not([hidden]), #done:not([hidden]), #ask:not([hidden])")
        return page

    yield begin
    for context in contexts:
        context.close()
    assert trouble == []


def made(query: int, place: int, text: str = "") -> ReviewItem:
    start, name = place * 100, f"q{query}"
    text = text or f"Passage {query}.{place} speaks of fatigue on duty."
    returned = (
        ReturnedPassage(
            "SYSTEM-ONE" if place % 2 else "SYSTEM-TWO", place + 1, "c", start, start + len(text), 0.987654
        ),
    )
    item = item_id(name, "report.md", start, start + len(text))
    return ReviewItem(item, name, f"what tires the crew, {query}?", "conceptual", "report.md", start, start + len(text),
                "Findings", text, ("fatigue",), (), returned)  # fmt: skip


@pytest.fixture
def review(tmp_path: Path) -> ReviewFolder:
    """A review of six passages, one of which would run as a script."""
    items = [made(query, place) for query in range(3) for place in range(2)]
    items[0] = made(0, 0, f"{OWNED} fatigue & <b>bold</b>")
    found = ReviewFolder(tmp_path / "review")
    write_pool(ReviewPool("night-run", 2, 7, ("SYSTEM-ONE", "SYSTEM-TWO"), tuple(items)), found.pool_file)
    return found


def done(page: Any) -> int:
    return int(page.locator("#count").inner_text().split()[0].replace(",", ""))


def press(page: Any, key: str, by: int = 1) -> None:
    """A key, and wait until the page has moved on by so many."""
    want = str(done(page) + by)
    page.keyboard.press(key)
    page.wait_for_function("n => document.getElementById('count').textContent.split(' ')[0] === n", arg=want)
    page.wait_for_function("() => !document.body.classList.contains('sending')")


def passage(page: Any) -> str:
    return page.locator("#passage").inner_text()


def told(page: Any, words: str) -> None:
    page.get_by_text(words).first.wait_for()


def test_from_a_run_by_keyboard_over_a_reload_into_truth(
    tiny: Path, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    before = run(tiny, out=Path("runs/tiny"))
    server = serve("runs/tiny", "--repeats", 0)
    page = visit(server.address, "")
    page.keyboard.type("Ann Ö.")
    page.keyboard.press("Enter")
    page.wait_for_selector("#work:not([hidden])")
    total = int(page.locator("#count").inner_text().split()[-1])
    assert total >= 20
    for number in range(total):
        if number == total // 2:
            shown = passage(page)
            page.reload()
            page.wait_for_selector("#work:not([hidden])")
            assert done(page) == number
            assert passage(page) == shown
        press(page, "123"[number % 3])
    told(page, "Everything is judged.")
    said = server.end()
    assert server.process.returncode == 0, said
    assert f"{total} judged (Ann Ö. {total}); 0 passages still open" in said
    assert "bakeoff review judgments reviews/tiny" in said
    review = ReviewFolder(Path("reviews/tiny"))
    assert len(review.ledger.read().entries) == total
    written = subprocess.run(
        [sys.executable, "-m", "bakeoff", "review", "judgments", "reviews/tiny", "--out", "judgments.json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert written.returncode == 0, written.stderr
    rows = json.loads(Path("judgments.json").read_text())["judgments"]
    assert sum(row["source"] == "human" for row in rows) == total
    tiny.write_text(tiny.read_text() + "judgments: judgments.json\n")
    after = run(tiny, out=Path("runs/judged"))
    assert after.record.truth_fingerprint != before.record.truth_fingerprint
    assert "human" in {row["source"] for row in after.scores.to_pylist()}


def test_corpus_text_stays_text_and_the_page_is_blind(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    server = serve(review.folder, "--repeats", 0)
    page = visit(server.address)
    answers: list[str] = []
    page.on("response", lambda answer: answers.append(answer.text()))
    page.reload()
    page.wait_for_selector("#work:not([hidden])")
    page.keyboard.press("c")
    seen = []
    for _ in range(6):
        seen.append(passage(page))
        told(page, "report.md")
        assert page.locator("#passage script, #passage img, #passage b").count() == 0
        assert page.locator("#passage mark").first.inner_text() == "fatigue"
        press(page, "2")
    assert any(OWNED in text and "<b>bold</b>" in text for text in seen)
    assert "owned" not in page.title()
    everything = "".join(answers) + page.content()
    assert "report.md" in everything
    assert not any(word in everything for word in ("SYSTEM-ONE", "SYSTEM-TWO", "0.987654"))


def test_undo_later_cannot_notes_and_held_keys(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    server = serve(review.folder, "--repeats", 0)
    page = visit(server.address)
    first = passage(page)
    page.keyboard.press("n")
    page.keyboard.type("123 unsure")
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("#work:not([hidden])")
    assert page.locator("#note").input_value() == "123 unsure"
    press(page, "1")
    second = passage(page)
    press(page, "l", by=0)
    page.wait_for_function("t => document.getElementById('passage').innerText !== t", arg=second)
    third = passage(page)
    press(page, "x")
    press(page, "Control+z", by=-1)
    assert passage(page) == third
    press(page, "u", by=0)
    page.wait_for_function("t => document.getElementById('passage').innerText === t", arg=second)
    press(page, "u", by=-1)
    assert passage(page) == first
    assert page.locator("#note").input_value() == "123 unsure"
    page.keyboard.down("2")
    page.wait_for_function("() => document.getElementById('count').textContent.startsWith('1 ')")
    for _ in range(5):
        page.keyboard.down("2")  # a key that is held down
    page.wait_for_timeout(300)
    assert done(page) == 1
    page.keyboard.up("2")
    kinds = [entry.kind for entry in review.ledger.read().entries]
    assert kinds == [
        LedgerKind.JUDGE,
        LedgerKind.LATER,
        LedgerKind.CANNOT,
        LedgerKind.UNDO,
        LedgerKind.UNDO,
        LedgerKind.UNDO,
        LedgerKind.JUDGE,
    ]
    assert review.ledger.read().entries[0].note == "123 unsure"


def test_undo_counts_where_the_clock_was_set_back(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    item = review.pool().items[2]
    late = "2999-01-01T00:00:00.000007+00:00"
    review.ledger.append(
        LedgerEntry(LedgerKind.JUDGE, item.id, "q1", "ann", item.text_hash, Label.FALSE_POSITIVE, time=late)
    )
    page = visit(serve(review.folder, "--repeats", 0).address)
    assert done(page) == 1
    press(page, "u", by=-1)
    assert passage(page) == item.text
    assert review.ledger.read().entries[-1].kind is LedgerKind.UNDO


def test_two_reviewers_at_once_and_who_decides_between_them(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    server = serve(review.folder, "--repeats", 0)
    ann, bob = visit(server.address, "ann"), visit(server.address, "bob")
    for _ in range(6):
        press(ann, "2")
        press(bob, "3")
    assert {entry.reviewer for entry in review.ledger.read().entries} == {"ann", "bob"}
    said = server.end()
    assert "12 judged (ann 6, bob 6)" in said
    assert "reviewers disagree on 6" in said
    judge = visit(serve(review.folder, "--adjudicate").address, "eve")
    assert judge.locator("#said").inner_text().splitlines() == ["Semantic match ann", "False positive bob"]
    assert judge.locator("#cannot").is_hidden()
    for _ in range(6):
        press(judge, "2")
    told(judge, "Everything is decided.")
    assert {one.label for one in load_state(review).settled.values()} == {Label.SEMANTIC_MATCH}


def test_a_server_killed_in_mid_judgment_loses_nothing(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    server = serve(review.folder, "--repeats", 0)
    page = visit(server.address, calm=False)
    press(page, "2")
    os.kill(server.process.pid, signal.SIGSTOP)
    shown = passage(page)
    page.keyboard.press("3")
    page.wait_for_timeout(300)
    assert passage(page) == shown  # it moves on only when the judgment is on disk
    server.kill()
    told(page, "Not saved yet")
    page.keyboard.press("1")  # no second answer while the first is on its way
    server.start(server.port)
    told(page, "Open the address that it printed")  # each start has a token of its own
    assert passage(page) == shown
    again = page.context.new_page()
    again.goto(f"{server.address}&reviewer=ann")
    for one in (again, page):  # the first page goes on too, now that the browser has the token
        one.wait_for_function("() => document.getElementById('count')?.textContent.startsWith('2 ')")
        assert one.locator("#alert").is_hidden()
    entries = review.ledger.read().entries
    assert [entry.judgment for entry in entries] == [Label.SEMANTIC_MATCH, Label.FALSE_POSITIVE]
    assert passage(page) != shown
    for _ in range(4):
        press(page, "2")
    assert len(review.ledger.read().entries) == 6


def test_the_page_closed_while_the_server_is_gone_sends_what_it_kept(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    server = serve(review.folder, "--repeats", 0)
    page = visit(server.address, calm=False)
    server.kill()
    page.keyboard.press("2")
    told(page, "Not saved yet")
    context = page.context
    page.close()
    assert not review.ledger.read().entries
    server.start(server.port)
    again = context.new_page()
    again.goto(f"{server.address}&reviewer=ann")
    again.wait_for_function("() => document.getElementById('count').textContent.startsWith('1 ')")
    assert [entry.judgment for entry in review.ledger.read().entries] == [Label.SEMANTIC_MATCH]


def test_other_sites_get_nothing(review: ReviewFolder, serve: Callable[..., Served], browser: Any) -> None:
    server, other = serve(review.folder), serve(review.folder)
    page = browser.new_page()
    answer = page.goto(f"http://evil.example:{server.port}/")
    assert answer.status == 403
    assert "not this machine" in page.content()
    page.goto(other.address)
    page.wait_for_selector("#ask:not([hidden])")
    body = json.dumps({"reviewer": "eve"})
    tried = page.evaluate(
        """async ([url, body]) => {
          const kinds = ["text/plain", "application/json"], modes = ["no-cors", "cors"], seen = [];
          for (const kind of kinds) for (const mode of modes) {
            try { const a = await fetch(url, {method: "POST", mode, body, headers: {"Content-Type": kind}}); seen.push(a.type + a.status); }
            catch { seen.push("refused"); }
          }
          return seen;
        }""",
        [f"http://127.0.0.1:{server.port}/open", body],
    )
    assert not any("200" in one for one in tried)
    assert not list(review.folder.glob("ledger/*"))
    page.close()


def test_graded_by_keys_and_by_tab(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    server = serve(review.folder, "--graded", "--repeats", 0)
    page = visit(server.address)
    page.keyboard.press("2")
    told(page, "Answers fully")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    press(page, "3")
    press(page, "3")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.label") == "SEMANTIC_MATCH"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    press(page, "Enter")
    assert page.evaluate("document.activeElement.id") == "passage"
    said = [(entry.judgment, entry.grade) for entry in review.ledger.read().entries]
    assert said == [(Label.KEYWORD_MATCH, 3), (Label.FALSE_POSITIVE, 0), (Label.SEMANTIC_MATCH, 2)]


def test_single_keys_can_be_turned_off(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    page = visit(serve(review.folder).address)
    page.keyboard.press("?")
    page.get_by_label("Judge with single keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.wait_for_timeout(200)
    assert done(page) == 0
    page.get_by_role("button", name="Semantic match").click()
    page.wait_for_function("() => document.getElementById('count').textContent.startsWith('1 ')")


LUMINANCE = """() => {
  const level = rgb => rgb.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const paper = node => { for (; node; node = node.parentElement) {
    const c = getComputedStyle(node).backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
  const low = [];
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some(one => one.nodeType === 3 && one.textContent.trim());
    if (!own || !node.checkVisibility({opacityProperty: true}) || node.matches(':disabled, script, style')) continue;
    const [a, b] = [level(getComputedStyle(node).color), level(paper(node))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) low.push(node.tagName + ' ' + node.textContent.slice(0, 20));
  }
  return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark_and_at_400_pixels(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any], scheme: str
) -> None:
    page = visit(serve(review.folder).address, color_scheme=scheme)
    page.keyboard.press("c")
    page.keyboard.press("n")
    assert page.evaluate(LUMINANCE) == []
    page.set_viewport_size({"width": 400, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate(
        "[...document.querySelectorAll('button:not([hidden])')].every(b => !b.offsetWidth || b.getBoundingClientRect().right <= 400)"
    )
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.evaluate(LUMINANCE) == []


def test_everything_has_a_name_for_a_screen_reader(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    review.ledger.append(LedgerEntry(LedgerKind.LATER, "x", "q", "ann", "h"))
    page = visit(serve(review.folder).address)
    assert page.get_by_role("group", name="Judgment").get_by_role("button").count() == 3
    assert page.get_by_role("article", name="Passage 1 of 6").count() == 1
    assert page.get_by_role("progressbar", name="Judged").count() == 1
    assert page.locator("#status[role=status][aria-live=polite]").inner_text().startswith("Query: what tires")
    press(page, "2")
    assert "Saved: Semantic match. 1 of 6 judged." in page.locator("#status").text_content()
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, textarea')].filter(n => !(n.textContent.trim() || n.labels?.length || n.ariaLabel)).length"
    )
    assert nameless == 0
    assert page.evaluate("document.activeElement.id") == "passage"


def test_the_order_of_next_in_the_page(
    review: ReviewFolder, serve: Callable[..., Served], visit: Callable[..., Any]
) -> None:
    pool = review.pool()
    both = replace(
        pool.items[1],
        returned=(*pool.items[1].returned, replace(pool.items[1].returned[0], system="SYSTEM-TWO")),
    )
    items = tuple(both if item.id == both.id else item for item in pool.items)
    write_pool(replace(pool, items=items), review.pool_file)
    page = visit(serve(review.folder, "--order", "next", "--repeats", 0).address)
    order = []
    for _ in range(6):
        order.append(passage(page))
        press(page, "2")
    assert order[-1] == both.text
