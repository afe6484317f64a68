"""The review page's server: blind, durable, for this machine and its own page only."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import SettingError
from bakeoff.measures.labels import Label
from bakeoff.review.choices import BY_WORD, LabelScheme
from bakeoff.review.ledger import Ledger, LedgerEntry, LedgerKind
from bakeoff.review.outcomes import OutcomeState
from bakeoff.review.pool import ReviewPool, write_pool
from bakeoff.review.review_folder import ReviewFolder, load_state
from bakeoff.review.web.cards import REACH, ContextWindow, card, mark_words
from bakeoff.review.web.reviewer_session import Answer, History
from bakeoff.review.web.server import BODY_LIMIT, TOKEN, PageSetup, ReviewServer, page
from bakeoff.review.web.session import ReviewOptions, ReviewSession, checked_name

SEMANTIC = Answer(LedgerKind.JUDGE, BY_WORD["SEMANTIC_MATCH"])
WRONG = Answer(LedgerKind.JUDGE, BY_WORD["FALSE_POSITIVE"])
LATER = Answer(LedgerKind.LATER)
PLAIN = ReviewOptions(repeats=0)


def at(second: int) -> str:
    return f"2026-01-18T10:{second // 60:02d}:{second % 60:02d}.000000+00:00"


@pytest.fixture
def review(pool: ReviewPool, tmp_path: Path) -> ReviewFolder:
    """The small pool as a review: four queries, eight open items."""
    made = ReviewFolder(tmp_path / "review")
    write_pool(pool, made.pool_file)
    return made


def shown(session: ReviewSession, reviewer: str = "ann") -> list[str]:
    """The texts that come next."""
    told = session.open(reviewer)
    texts = {one.key: f"{one.query_id} {''.join(part for part, _ in one.text)}" for one in told.cards}
    return [texts[key] for key in told.queue]


# --- what a card shows ------------------------------------------------------------------------------


def test_words_of_rules_are_marked_anywhere_and_those_of_the_query_where_a_word_begins() -> None:
    parts = mark_words(
        "The aircrew was tired; duty times TOKENS, untoken", ("crew", "duty time"), "which tokens expire?"
    )
    assert "".join(text for text, _ in parts) == "The aircrew was tired; duty times TOKENS, untoken"
    assert [text for text, on in parts if on] == ["crew", "duty time", "TOKENS"]


def test_a_text_without_words_to_mark_stays_whole() -> None:
    assert mark_words("a (b) c", (), "is it?") == (("a (b) c", False),)
    assert mark_words("", ("x",), "y") == ()


def test_words_that_look_like_patterns_are_words() -> None:
    assert [text for text, on in mark_words("a.c abc (x", ("a.c", "(x"), "") if on] == ["a.c", "(x"]


def test_the_text_around_is_put_together_from_stored_pieces_up_to_a_gap() -> None:
    text = "".join(chr(97 + i % 26) for i in range(3_000))
    spans = [(0, 40), (50, 120), (100, 200), (200, 230), (900, 2_000)]
    around = ContextWindow(("d", a, b, text[a:b]) for a, b in spans)
    assert around.before("d", 200) == text[50:200]
    assert around.after("d", 200) == text[200:230]
    assert around.after("d", 1_000) == text[1_000 : 1_000 + REACH]
    assert around.before("d", 50) == ""
    assert around.after("e", 0) == ""


def test_a_piece_whose_text_is_not_its_span_gives_no_context() -> None:
    assert ContextWindow([("d", 0, 10, "heading\nbody and more")]).after("d", 5) == ""


@pytest.mark.parametrize(
    ("name", "code"), [("a/b.py", True), ("x.YAML", True), ("a.md", False), ("AAR9901", False)]
)
def test_program_text_is_told_from_prose(pool: ReviewPool, name: str, code: bool) -> None:
    assert card("k", replace(pool.items[0], document_id=name), ContextWindow([])).code is code


# --- one reviewer -----------------------------------------------------------------------------------------


def test_open_items_come_query_by_query_and_the_same_way_again(review: ReviewFolder) -> None:
    texts = shown(ReviewSession(review, PLAIN))
    assert len(texts) == 8
    queries = [text.split()[0] for text in texts]
    assert queries == [query for query in dict.fromkeys(queries) for _ in range(2)]
    assert texts == shown(ReviewSession(review, PLAIN))
    assert texts != shown(ReviewSession(review, PLAIN), "bob")


def test_what_rules_filled_in_is_judged_only_when_asked_for(review: ReviewFolder) -> None:
    assert len(shown(ReviewSession(review, replace(PLAIN, filled=True)))) == 12


def test_an_answer_is_in_the_ledger_and_the_next_comes(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    told = session.open("ann")
    after = session.save_answer(
        "ann", told.queue[0], replace(SEMANTIC, grade=2, note="so"), at(1), told.queue
    )
    assert after.queue == told.queue[1:]
    assert after.cards == ()
    assert after.progress.done == 1
    (entry,) = review.ledger.read().entries
    assert (entry.kind, entry.judgment, entry.grade, entry.note) == (
        LedgerKind.JUDGE,
        Label.SEMANTIC_MATCH,
        2,
        "so",
    )
    assert entry.text_hash == session.pool.by_id()[entry.item].text_hash


def test_a_keystroke_sent_twice_counts_once_even_after_a_restart(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    key = session.open("ann").queue[0]
    first = session.save_answer("ann", key, SEMANTIC, at(1))
    assert session.save_answer("ann", key, SEMANTIC, at(1)).queue == first.queue
    restarted = ReviewSession(review, PLAIN)
    assert restarted.save_answer("ann", key, SEMANTIC, at(1)).queue == first.queue
    assert len(review.ledger.read().entries) == 1
    assert session.judged["ann"] == 1
    assert restarted.judged["ann"] == 0


def test_what_was_put_off_comes_last_and_repetitions_in_between_so_that_the_count_reaches_its_end(
    review: ReviewFolder,
) -> None:
    session = ReviewSession(review, ReviewOptions(repeats=0.25))
    first = session.open("ann")
    state = session.save_answer("ann", first.queue[4], LATER, at(1))
    assert (state.progress.later, state.progress.total) == (1, 8)
    order, counts = [], []
    for second in range(2, 30):
        if not state.queue:
            break
        order.append(state.queue[0])
        state = session.save_answer("ann", state.queue[0], SEMANTIC, at(second))
        counts.append(state.progress.done)
    repeats = [entry.repeat for entry in review.ledger.read().entries]
    assert order[-1] == first.queue[4]
    assert len(order) == 10
    assert sum(repeats) == 2
    assert repeats[:5] == [0] * 5
    assert repeats[-1] == 0
    assert sorted(counts) == counts
    assert state.progress == replace(state.progress, done=8, total=8, later=0)


def test_a_repetition_never_comes_before_its_first_showing(review: ReviewFolder) -> None:
    session = ReviewSession(review, ReviewOptions(repeats=1.0))
    state = session.open("ann")
    for second in range(30):
        if state.queue:
            state = session.save_answer("ann", state.queue[0], SEMANTIC, at(second))
    seen: set[str] = set()
    for entry in review.ledger.read().entries:
        assert not entry.repeat or entry.item in seen
        seen.add(entry.item)
    assert len(review.ledger.read().entries) == 16


def test_a_grade_is_a_match_by_keyword_only_where_a_rule_holds(review: ReviewFolder) -> None:
    write_pool(replace(review.pool(), labels=LabelScheme.GRADES), review.pool_file)
    session = ReviewSession(review, replace(PLAIN, filled=True))
    state = session.open("ann")
    for second, word in enumerate(["RELEVANT", "PARTLY", "NOT_RELEVANT"] * 4):
        state = session.save_answer(
            "ann", state.queue[0], Answer(LedgerKind.JUDGE, BY_WORD[word]), at(second)
        )
    items = session.pool.by_id()
    for entry in review.ledger.read().entries:
        match = Label.KEYWORD_MATCH if items[entry.item].rules else Label.SEMANTIC_MATCH
        assert entry.judgment is (match if entry.grade else Label.FALSE_POSITIVE)
    graded = {entry.item: entry.grade for entry in review.ledger.read().entries}
    assert set(graded.values()) == {0, 1, 2}
    assert {item: one.relevance for item, one in load_state(review).settled.items()} == graded


def test_the_median_time_of_a_judgment_is_known_at_the_end(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    state = session.open("ann")
    assert state.progress.seconds_each is None
    for second in (0, 4, 8, 12, 16, 20, 50, 54):
        state = session.save_answer("ann", state.queue[0], SEMANTIC, at(second))
    assert state.progress.seconds_each == 4.0


def test_what_is_put_off_again_goes_behind_the_others_put_off(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    told = session.open("ann")
    for second in range(8):
        told = session.save_answer("ann", told.queue[0], LATER, at(second))
    first, second_, *_ = told.queue
    assert session.save_answer("ann", first, LATER, at(9)).queue[0] == second_


def test_undo_goes_back_step_by_step_over_a_restart(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    told = session.open("ann")
    a, b = told.queue[:2]
    session.save_answer("ann", a, replace(SEMANTIC, note="n"), at(1))
    session.save_answer("ann", b, LATER, at(2))
    again = ReviewSession(review, PLAIN)
    back = again.undo("ann", at(3))
    assert back.queue[0] == b
    assert back.undone
    assert back.undone.judgment == "Later"
    back = again.undo("ann", at(4))
    assert back.queue[0] == a
    assert back.undone
    assert (back.undone.judgment, back.undone.note) == ("Semantic match", "n")
    assert again.undo("ann", at(4)).queue[0] == a  # sent twice
    assert again.undo("ann", at(5)).undone is None
    assert len(review.ledger.read().entries) == 4
    assert all(one.state is not OutcomeState.AGREED for one in load_state(review).settled.values())


def test_undo_takes_back_nothing_of_others(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    session.save_answer("bob", session.open("bob").queue[0], SEMANTIC, at(1))
    assert session.undo("ann", at(2)).undone is None


def test_keys_do_not_tell_a_repetition(review: ReviewFolder) -> None:
    session = ReviewSession(review, ReviewOptions(repeats=1.0))
    told = session.open("ann")
    for second in range(8):
        told = session.save_answer("ann", told.queue[0], SEMANTIC, at(second))
    assert all(re.fullmatch("[0-9a-f]{16}", key) for key in told.queue)
    assert "repeat" not in json.dumps([str(one) for one in told.cards])


def test_a_changed_passage_is_shown_again(review: ReviewFolder, pool: ReviewPool) -> None:
    session = ReviewSession(review, PLAIN)
    session.save_answer("ann", session.open("ann").queue[0], SEMANTIC, at(1))
    (entry,) = review.ledger.read().entries
    items = tuple(replace(one, text="other text") if one.id == entry.item else one for one in pool.items)
    write_pool(replace(pool, items=items), review.pool_file)
    changed = ReviewSession(review, PLAIN).open("ann")
    assert changed.progress.done == 0
    assert "other text" in {"".join(part for part, _ in one.text) for one in changed.cards}


def test_what_another_window_wrote_is_seen(review: ReviewFolder) -> None:
    one, other = ReviewSession(review, PLAIN), ReviewSession(review, PLAIN)
    told = one.open("ann")
    other.open("ann")
    one.save_answer("ann", told.queue[0], SEMANTIC, at(1))
    assert other.save_answer("ann", told.queue[1], SEMANTIC, at(2)).progress.done == 2


def test_an_answer_that_comes_late_does_not_overrule_a_newer_one(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    told = session.open("ann")
    session.save_answer("ann", told.queue[0], WRONG, at(50))
    session.save_answer("ann", told.queue[0], SEMANTIC, at(10))
    labels = [one.label for one in load_state(review).settled.values() if one.state is OutcomeState.AGREED]
    assert labels == [Label.FALSE_POSITIVE]


def test_the_page_is_told_the_time_its_next_answer_must_follow(review: ReviewFolder) -> None:
    session = ReviewSession(review, PLAIN)
    told = session.open("ann")
    assert told.latest == ""
    assert session.save_answer("ann", told.queue[0], SEMANTIC, at(9)).latest == at(9)
    assert session.undo("ann", at(11)).latest == at(11)


def test_the_time_left_is_of_the_reviewers_own_pace_without_pauses(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for second in (0, 10, 20, 30, 1_400, 1_410, 1_420):
        ledger.append(
            LedgerEntry(
                LedgerKind.JUDGE, f"i{second}", "q", "ann", "h", Label.SEMANTIC_MATCH, time=at(second)
            )
        )
    assert History(ledger, "ann").seconds_each() == 10
    assert History(ledger, "bob").seconds_each() is None


def test_times_that_name_no_moment_say_nothing_about_the_pace(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for number in range(9):
        ledger.append(
            LedgerEntry(LedgerKind.LATER, f"i{number}", "q", "ann", "h", time=f"2026-01-{10 + number}")
        )
    assert History(ledger, "ann").seconds_each() is None


@pytest.mark.parametrize("name", ["", "  ", "a" * 81, "a\x00b"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(SettingError):
        checked_name(name)


# --- the order of `review next`, and deciding between reviewers --------------------------------------


def test_the_order_of_next_puts_first_what_can_move_the_decision(
    review: ReviewFolder, pool: ReviewPool
) -> None:
    shared = replace(pool.items[0], rules=())  # both systems returned it: it moves nothing
    items = (shared, *pool.items[1:])
    write_pool(replace(pool, items=items), review.pool_file)
    session = ReviewSession(review, ReviewOptions(by_stakes=True, repeats=0))
    assert shown(session)[-1] == "q0 passage 00"
    for second in range(12):
        told = session.open("ann")
        assert "a" not in told.advice.split()
        if told.queue:
            session.save_answer("ann", told.queue[0], SEMANTIC, at(second))
    session.close()


def disputed(review: ReviewFolder) -> ReviewSession:
    """Ann and Bob differ on one item."""
    session = ReviewSession(review, PLAIN)
    told = session.open("ann")
    session.save_answer("ann", told.queue[0], replace(SEMANTIC, note="because"), at(1))
    (entry,) = review.ledger.read().entries
    review.ledger.append(replace(entry, reviewer="bob", judgment=Label.FALSE_POSITIVE, note="", time=at(2)))
    return ReviewSession(review, ReviewOptions(adjudicate=True))


def test_who_decides_sees_what_was_said_and_the_decision_holds(review: ReviewFolder) -> None:
    session = disputed(review)
    told = session.open("eve")
    (shown_,) = told.cards
    said = {one.who: (one.judgment, one.note) for one in shown_.said}
    assert said == {"ann": ("Semantic match", "because"), "bob": ("False positive", "")}
    after = session.save_answer("eve", shown_.key, WRONG, at(3))
    assert (after.queue, after.progress.done, after.progress.total) == ((), 1, 1)
    (held,) = [one for one in load_state(review).settled.values() if one.state is OutcomeState.ADJUDICATED]
    assert held.label is Label.FALSE_POSITIVE
    assert session.open("eve").progress.done == 1
    assert session.undo("eve", at(4)).queue == (shown_.key,)
    assert OutcomeState.CONFLICT in {one.state for one in load_state(review).settled.values()}


def test_who_decides_and_puts_off_loses_no_judgment_of_their_own(review: ReviewFolder) -> None:
    session = disputed(review)
    key = session.open("ann").queue[0]
    assert session.save_answer("ann", key, LATER, at(3)).queue == (key,)
    assert len(review.ledger.read().entries) == 2
    with pytest.raises(SettingError):
        session.save_answer("ann", key, Answer(LedgerKind.CANNOT), at(4))
    assert session.undo("ann", at(5)).undone is None  # a judgment is not taken back from here
    assert OutcomeState.CONFLICT in {one.state for one in load_state(review).settled.values()}


# --- over HTTP --------------------------------------------------------------------------------------

Ask = Callable[..., tuple[int, Any, dict[str, str]]]


@pytest.fixture
def server(review: ReviewFolder) -> Iterator[ReviewServer]:
    with ReviewServer(ReviewSession(review, PLAIN), 0) as started:
        thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield started
        started.shutdown()
        thread.join()


@pytest.fixture
def ask(server: ReviewServer) -> Ask:
    """Sends a request as the page would, with what the test changes about it."""

    def sent(path: str = "/open", body: Any = None, method: str = "POST", **headers: str | None) -> Any:
        port = server.server_address[1]
        given = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}", TOKEN: server.token,
                 "Content-Type": "application/json"}  # fmt: skip
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body or {"reviewer": "ann"}).encode()
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Content-Length": str(len(data)), **given}.items():
            if value is not None:
                link.putheader(name, value)
        link.endheaders(data)
        answer = link.getresponse()
        text = answer.read()
        link.close()
        kind = answer.headers.get_content_type()
        return (
            answer.status,
            json.loads(text) if kind == "application/json" else text.decode(),
            dict(answer.headers),
        )

    return sent


def say(
    ask: Ask, key: str, second: int, reviewer: str = "ann", **more: Any
) -> tuple[int, Any, dict[str, str]]:
    body = {
        "reviewer": reviewer,
        "key": key,
        "kind": "judge",
        "judgment": "SEMANTIC_MATCH",
        "time": at(second),
    }
    return ask("/say", {**body, **more})


def test_a_judgment_over_http_is_on_disk_when_it_is_answered(ask: Ask, review: ReviewFolder) -> None:
    status, told, _ = ask()
    assert status == 200
    status, after, _ = say(ask, told["queue"][0], 1, note="ä\nb")
    assert (status, after["progress"]["done"]) == (200, 1)
    assert review.ledger.read().entries[0].note == "ä\nb"


def test_what_the_page_gets_is_blind(ask: Ask, review: ReviewFolder) -> None:
    systems = {"system-one", "system-two"}
    renamed = dict(zip(("a", "b"), sorted(systems), strict=True))
    pool = review.pool()
    items = [
        replace(
            item,
            returned=tuple(replace(one, system=renamed[one.system], score=0.987654) for one in item.returned),
        )
        for item in pool.items
    ]
    write_pool(replace(pool, systems=tuple(sorted(systems)), items=tuple(items)), review.pool_file)
    told = ReviewSession(review, PLAIN).open("ann")
    text = json.dumps([str(one) for one in told.cards]) + json.dumps(ask()[1])
    assert "passage 01" in text
    assert not any(name in text for name in (*systems, "0.987654", "rank", "score"))


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1@evil"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_name_that_leads_here_is_refused(
    ask: Ask, review: ReviewFolder, host: str, method: str
) -> None:
    status, said, _ = ask("/" if method == "GET" else "/open", method=method, Host=host, Origin=None)
    assert status == 403
    assert "not this machine" in said["error"]
    assert not review.ledger.read().entries


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_another_origin_is_refused(ask: Ask, origin: str) -> None:
    assert ask(Origin=origin)[0] == 403


def test_another_site_is_refused_where_the_browser_says_so(ask: Ask) -> None:
    assert ask(Origin=None, Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(Origin=None, Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("token", [None, "", "guess", "ä"])
def test_without_the_token_of_the_page_nothing_is_told(ask: Ask, token: str | None) -> None:
    status, said, _ = ask(**{TOKEN: token.encode().decode("latin-1") if token else token})
    assert status == 403
    assert "queue" not in said


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "Invalid JSON"),
        (b"[]", ""),
        (
            {"reviewer": "ann", "key": "k", "kind": "judge", "time": at(1), "judgment": "MAYBE"},
            "not an answer",
        ),
        ({"reviewer": "ann", "key": "k", "kind": "undo", "time": at(1)}, "not an answer"),
        ({"reviewer": "ann", "key": "k", "kind": "later", "time": "yesterday"}, "time"),
        ({"reviewer": "ann", "key": "k", "kind": "later", "time": at(1), "grade": 4}, "grade"),
        ({"reviewer": "ann", "key": "k", "kind": "later", "time": at(1), "more": 1}, "more"),
    ],
)
def test_what_is_no_answer_is_refused_and_not_written(
    ask: Ask, review: ReviewFolder, body: Any, words: str
) -> None:
    status, said, _ = ask("/say", body)
    assert status == 400
    assert words in said["error"]
    assert not review.ledger.read().entries


def test_other_requests_are_refused(ask: Ask) -> None:
    assert ask("/say", {"reviewer": "ann", "key": "k", "kind": "later", "time": at(1)})[0] == 409
    assert ask(body={"reviewer": " "})[0] == 409
    assert ask("/elsewhere")[0] == 404
    assert ask("/../pool.json", method="GET")[0] == 404
    assert ask(Content_Type="text/plain")[0] == 415
    assert ask(Content_Length=str(BODY_LIMIT + 1))[0] == 413
    assert ask(Content_Length="-1")[0] == 413


@pytest.mark.parametrize(
    ("request_line", "more", "status"),
    [
        ("GET //[ HTTP/1.1", "", 404),
        ("GET http://[::1/ HTTP/1.1", "", 404),
        ("POST /open HTTP/1.1", "Content-Length: " + "9" * 5000, 413),
        ("POST /open HTTP/1.1", "Transfer-Encoding: chunked", 413),
        ("POST /open HTTP/1.1", "Host: evil.example\r\nContent-Length: 2", 403),
        ("POST /open HTTP/1.1", "Origin: http://127.0.0.1:{port}\r\nOrigin: http://evil.example\r\nContent-Length: 2", 403),
        ("GET / HTTP/1.1", "X: " + "x" * 70_000, 431),
    ],
    ids=["path", "address", "length", "chunked", "two hosts", "two origins", "long header"],
)  # fmt: skip
def test_odd_requests_are_answered_and_are_no_fault(
    server: ReviewServer, request_line: str, more: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    port = server.server_address[1]
    with socket.create_connection(("127.0.0.1", port), 60) as link:
        head = f"{request_line}\r\nHost: 127.0.0.1:{port}\r\n{more.format(port=port)}\r\n\r\n"
        link.sendall(head.encode())
        assert int(link.recv(64).split()[1]) == status
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_a_slow_client_keeps_nobody_waiting(server: ReviewServer, ask: Ask) -> None:
    """Half a request on many connections, and one body that never comes."""
    port = server.server_address[1]
    slow = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(30)]
    for place, link in enumerate(slow):
        head = f"POST /open HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 100\r\n"
        link.sendall(head.encode() + (b"\r\n{" if place % 2 else b""))
    assert ask()[0] == 200
    for link in slow:
        link.close()


def test_a_judgment_that_cannot_be_written_is_said_and_asked_for_again(
    ask: Ask, review: ReviewFolder
) -> None:
    key = ask()[1]["queue"][0]
    review.ledger.folder.write_text("in the way")
    status, said, _ = say(ask, key, 1)
    assert status == 503
    assert "not saved" in said["error"]
    review.ledger.folder.unlink()
    assert say(ask, key, 1)[0] == 200
    assert len(review.ledger.read().entries) == 1


def test_reviewers_at_once_lose_nothing(ask: Ask, review: ReviewFolder) -> None:
    def work(name: str) -> None:
        told = ask(body={"reviewer": name})[1]
        for second in range(8):
            told = say(ask, told["queue"][0], second, name)[1]

    threads = [threading.Thread(target=work, args=(name,)) for name in ("ann", "bob", "eve")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(review.ledger.read().entries) == 24
    assert len(list(review.ledger.folder.glob("*.jsonl"))) == 3


def test_the_page_is_given_to_whoever_has_its_token_in_the_address_or_as_a_cookie(
    ask: Ask, server: ReviewServer
) -> None:
    assert ask("/", method="GET")[0] == 403
    assert ask("/?token=guess", method="GET")[0] == 403
    status, _, headers = ask(f"/?token={server.token}", method="GET")
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert (status, ask("/", method="GET", Cookie=cookie)[0]) == (200, 200)
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    assert ask("/", method="GET", Cookie=f"{cookie.partition('=')[0]}=guess")[0] == 403


def test_only_our_script_may_run_and_nothing_else_is_fetched(ask: Ask, server: ReviewServer) -> None:
    status, text, headers = ask(f"/?token={server.token}&reviewer=ann", method="GET", Origin=None)
    assert status == 200
    rules = headers["Content-Security-Policy"]
    assert "default-src 'none'" in rules
    assert "unsafe" not in rules
    assert re.search(r"script-src 'sha256-[\w+/=]+';", rules)
    assert headers["Cache-Control"] == "no-store"
    assert not re.search(r"(src|href)=\"(?!data:)", text)


def test_the_name_of_a_run_is_text_in_the_page() -> None:
    setup = PageSetup(
        review="r",
        run='"><script>alert(1)</script>',
        token="t",
        reviewer="</script>",
        graded=False,
        adjudicate=False,
        choices=(),
        guideline="</script><script>alert(2)</script>",
    )
    text = page(setup).decode()
    assert "<script>alert" not in text
    assert text.count("</script>") == 1


def test_a_port_in_use_is_reported(server: ReviewServer, review: ReviewFolder) -> None:
    with pytest.raises(SettingError, match="--port"):
        ReviewServer(ReviewSession(review, PLAIN), server.server_address[1])
