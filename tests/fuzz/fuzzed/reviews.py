"""What people send back in a review: files, ledgers, and requests of the page."""

from __future__ import annotations

import http.client
import json
import threading
from functools import cache
from pathlib import Path

from bakeoff.presets.goldsql.review_files import explain_differences, stored_counts
from bakeoff.review.importing import import_folder
from bakeoff.review.ledger import Ledger
from bakeoff.review.pool import ReturnedPassage, ReviewItem, ReviewPool, item_id, read_pool, write_pool
from bakeoff.review.review_folder import ReviewFolder
from bakeoff.review.sheet_reader import read_sheet
from bakeoff.review.suggestions import read_suggestions
from bakeoff.review.web.server import TOKEN, ReviewServer
from bakeoff.review.web.session import ReviewOptions, ReviewSession
from bakeoff.truth.human_judgments import JudgedSpan, judgment_set, judgments_text, read_judgments
from fuzzed.reader import Reader, scratch

SHEET = b"""review_complete: true
query_id: CON-005
query_text: pilot fatigue
model: minilm
results:
  - rank: 1
    chunk_id: AAR1401_chunk_12
    score: 0.81
    section_name: ANALYSIS
    chunk_text: |
      The pilot had slept four hours.
    judgment: SEMANTIC_MATCH
    notes: ""
"""
LONG = b"""# a note of the reviewer
metadata: {query_id: CON-001, model: mika, category: conceptual, reviewer: ann, review_date: '2026-01-18', review_complete: true}
query: {text: what failed, sql_ground_truth: WHERE chunk_text LIKE '%crew%', expected_report_ids: [], relevance_signals: [crew]}
instructions: {keyword_match: a}
summary: {auto_keyword_matches: 1, needs_human_review: 1}
results:
- {rank: 1, chunk_id: AAR0302.pdf_chunk_0118, report_id: AAR0302.pdf, section_name: A, score: 0.53, text_preview: 'The crew',
   judgment: KEYWORD_MATCH, notes: '[AUTO] Matches'}
- {rank: 2, chunk_id: AAR0401.pdf_chunk_0168, report_id: AAR0401.pdf, section_name: A, score: 0.5, text_preview: It, judgment: semantic_match, notes: ''}
"""
ENTRY = {
    "kind": "judge",
    "item": "i",
    "query": "q",
    "reviewer": "ann",
    "text_hash": "h",
    "judgment": "SEMANTIC_MATCH",
}
SUGGESTED = {
    "item": "i", "query": "q", "text_hash": "h", "model": "m", "server": "s", "prompt": "p", "grade": 1, "reason": "r",
    "missing": "", "time": "t",
}  # fmt: skip
SAID = {
    "reviewer": "ann",
    "key": "k",
    "kind": "judge",
    "judgment": "SEMANTIC_MATCH",
    "time": "2026-01-18T10:00:00.000000+00:00",
}


def a_pool() -> ReviewPool:
    item = ReviewItem(item_id("q", "d", 0, 9), "q", "what failed", "c", "d", 0, 9, "", "a passage",
                returned=(ReturnedPassage("a", 1, "d#0", 0, 9, 0.5),))  # fmt: skip
    return ReviewPool("run", 1, 7, ("a",), (item,))


def pool_file() -> bytes:
    path = scratch() / "pool.json"
    write_pool(a_pool(), path)
    return path.read_bytes()


def judgments() -> bytes:
    rows = [JudgedSpan("q", "d", 0, 9, 1, "ann", "h")]
    return judgments_text(judgment_set("run", ["ann"], rows)).encode()


def sheets(path: Path) -> object:
    """Review files as they come back; also counted as the tool of their origin counts."""
    imported = import_folder(path.parent, a_pool())
    return explain_differences(stored_counts(path.parent), imported)


@cache
def server() -> ReviewServer:
    review = ReviewFolder(scratch() / "review")
    write_pool(a_pool(), review.pool_file)
    started = ReviewServer(ReviewSession(review, ReviewOptions(repeats=0)), 0)
    threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return started


def request(path: Path) -> None:
    """A request of the page: it is answered, and never with a fault of ours."""
    port, body = server().server_address[1], path.read_bytes()
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    given = {TOKEN: server().token, "Content-Type": "application/json"}
    for place in ("/open", "/say", "/undo"):
        link.request("POST", place, body, given)
        answer = link.getresponse()
        assert answer.status < 500 and json.loads(answer.read())
    link.close()


READERS = [
    Reader("review file", "review_CON-005_minilm.yaml", read_sheet, SHEET),
    Reader("review files", "review_CON-001_mika.yaml", sheets, LONG),
    Reader("judgments", "judgments.json", read_judgments, judgments),
    Reader("pool", "pool.json", read_pool, pool_file),
    Reader(
        "ledger",
        "ann.jsonl",
        lambda path: Ledger(path.parent).read(),
        (json.dumps(ENTRY) + "\n").encode() * 3,
    ),
    Reader(
        "suggestions of a model", "m.jsonl", read_suggestions, (json.dumps(SUGGESTED) + "\n").encode() * 2
    ),
    Reader("request of the review page", "say.json", request, json.dumps(SAID).encode()),
]
