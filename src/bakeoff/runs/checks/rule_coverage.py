"""How far rules alone can judge each category of queries (S4-1, S4-78, S4-79), from the kinds of their rules."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.runs.checks.findings import AUTOMATED, Automated, AutomationRow, Finding
from bakeoff.runs.checks.text import number
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.rules import Rule, Sql, WordsRule, leaves


def automation_rows(queries: QuerySet) -> tuple[AutomationRow, ...]:
    """Queries of each category by how far their truth can be judged without people."""
    found: dict[str, dict[Automated, int]] = {}
    for query, rule in zip(queries.queries, queries.rules, strict=True):
        counts = found.setdefault(query.category, dict.fromkeys(AUTOMATED, 0))
        counts["yes" if query.negative else automation_of(rule)] += 1
    return tuple(AutomationRow(category, counts) for category, counts in found.items())


def automation_of(rule: Rule | None) -> Automated:
    """How far a query's rule can be judged without people; targets named by a person need no one else."""
    if rule is None:
        return "no"
    by_words = [leaf for _, leaf in leaves(rule) if isinstance(leaf, Sql | WordsRule)]
    if not by_words:
        return "yes"
    return "mostly" if any(leaf.expected for leaf in by_words) or rule.expected else "partly"


def check_automation(queries: QuerySet) -> Iterator[Finding]:
    """A note if only words, or no rule yet, decide what is relevant to some queries."""
    rows = automation_rows(queries)
    words = {row.category: row.counts["partly"] for row in rows if row.counts["partly"]}
    if not words:
        return
    listed = ", ".join(f"{name or 'without category'} {count}" for name, count in words.items())
    total = sum(words.values())
    text = (
        f"{number(total, 'query', 'queries')} of {len(queries.queries)} ({listed}) are judged by words that occur in a "
        "text, with no count of what should be found: right answers in other words count as wrong, so P, Hit and RR "
        "are lower bounds as far as the words' hits are right; R, nDCG and differences are not. Let people judge them: "
        "bakeoff review serve RUN."
    )
    yield Finding("note", "by-words", queries.name, text)
