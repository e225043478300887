"""Results in words: numbers as people read them, and the table on stdout."""

from collections.abc import Sequence

from angelia.context.usage_meter import cost_words, count
from angelia.core.text import one_line
from angelia.faces.words.widths import table
from angelia.service.batches.results import ModelSummary, TrialResult, summaries

_HEAD = ("MODEL", "PASSED", "RATE", "95 %", "COST", "A PASS", "TOKENS", "STEPS", "SECONDS")
_REASON = 100


def result_table(results: Sequence[TrialResult]) -> list[str]:
    """Models under each other; then, where there is something to say, how their turns ended and which checks came to no
    verdict.
    """
    found = summaries(results)
    rows = [_HEAD, *(_row(one) for one in found)]
    lines = table(rows)
    for one in found:
        if len(one.pass_at) > 1:
            lines.append(f"{one.model}: {', '.join(f'pass@{k} {rate:.1%}' for k, rate in one.pass_at.items())}")
        if one.broken:
            lines.append(f"{one.model}: {no_verdicts(one)}; they count as not passed")
        if one.endings.keys() - {"Answered"}:
            lines.append(f"{one.model}: {endings(one)}")
    return lines


def _row(one: ModelSummary) -> tuple[str, ...]:
    checked = bool(one.checked)
    return (
        one.model,
        f"{one.passed} of {one.checked}" if checked else "no checks",
        f"{one.rate:.1%}" if checked else "–",
        interval(one) if checked else "–",
        cost_words(one.cost, one.unpriced),
        cost_words(one.cost // one.passed, one.unpriced) if one.passed else "–",
        count(one.tokens),
        f"{one.steps:g}",
        f"{one.seconds:.1f}",
    )


def interval(one: ModelSummary) -> str:
    """From where to where the rate lies."""
    return f"{one.interval.low:.0%} to {one.interval.high:.0%}"


def endings(one: ModelSummary) -> str:
    """How its turns ended, the most frequent first."""
    return ", ".join(f"{number} {in_words(name)}" for name, number in one.endings.items())


def no_verdicts(one: ModelSummary) -> str:
    """Which checks came to none."""
    counted = ((f"{number} check{'' if number == 1 else 's'}", name) for name, number in one.broken.items())
    return ", ".join(f"{checks} {outcome_words(name)}" for checks, name in counted)


def in_words(name: str) -> str:
    """The name of an ending as words.

    >>> in_words("StepLimit")
    'step limit'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def outcome_words(outcome: str) -> str:
    """A check's outcome as words.

    >>> outcome_words("sandbox_gone")
    'lost the sandbox'
    """
    return {"sandbox_gone": "lost the sandbox", "unclear": "gave no verdict"}.get(outcome, outcome)


def result_line(result: TrialResult) -> str:
    """One result, as it comes."""
    said = outcome_words(result.outcome) if result.outcome else in_words(result.ending)
    said = f"{said} {result.score:g}" if result.outcome == "scored" else said
    why = f": {one_line(result.why, _REASON)}" if result.why and not result.passed else ""
    number = f" (try {result.number})" if result.number > 1 else ""
    spent = f"{cost_words(result.cost, result.unpriced)}, {result.seconds:.1f} s"
    return f"{result.task}{number}, {result.model}: {said}{why} · {spent}"
