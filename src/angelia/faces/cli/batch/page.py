"""Results as one HTML page that needs nothing else: models side by side, every task, and why something did not pass."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from angelia.context.usage_meter import cost_words, count
from angelia.core.counts import counted
from angelia.core.text import one_line
from angelia.core.visible import visible
from angelia.faces.cli.batch.result_words import endings, in_words, interval, no_verdicts, outcome_words
from angelia.service.batches.results import ModelSummary, TrialResult, summaries

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""No script, no picture, nothing from anywhere: what models said is text, and cannot become more."""
_RATE = "Rate, with its 95 %"
_MOST_TOLD = 2_000
"""Characters of an answer or a reason."""


def page(name: str, results: Sequence[TrialResult], left: int) -> str:
    """The whole page; `left` trials have no result."""
    found = summaries(results)
    tokens = files("angelia.faces.web").joinpath("static/css/tokens.css").read_text("utf-8")
    style = tokens + files("angelia.faces.cli.batch").joinpath("page.css").read_text("utf-8")
    tasks = list(dict.fromkeys(result.task for result in results))
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(name)} · Angelia</title><style>{style}</style></head><body><main>",
            f"<header><h1>{_text(name)}</h1><p>{_summary_line(found, results, len(tasks))}</p></header>",
            _left(left),
            _models(found),
            _tasks(tasks, found, results),
            _not_passed([result for result in results if result.outcome and not result.passed]),
            "</main></body></html>\n",
        )
    )


def _text(words: str) -> str:
    return escape(visible(words))


def _cut(words: str) -> str:
    rest = len(words) - _MOST_TOLD
    return _text(words) if rest <= 0 else f"{_text(words[:_MOST_TOLD])}\n… {counted(rest, 'more character')}"


def _many(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def _summary_line(found: Sequence[ModelSummary], results: Sequence[TrialResult], tasks: int) -> str:
    cost = cost_words(sum(one.cost for one in found), sum(one.unpriced for one in found))
    paid = "cost unknown" if cost == "unknown" else f"{cost} in all"
    counted = (_many(tasks, "task", "tasks"), _many(len(found), "model", "models"))
    return " · ".join((*counted, _many(len(results), "result", "results"), paid))


def _left(left: int) -> str:
    if not left:
        return ""
    words = _many(left, "trial has no result yet", "trials have no result yet")
    return f'<p class="wait"><b>◆ {words}.</b> Start the batch again to go on; nothing is paid twice.</p>'


def _models(found: Sequence[ModelSummary]) -> str:
    rows = "".join(_model(one) for one in found)
    head = "".join(
        f"<th{'' if name in ('Model', _RATE) else ' class=n'}>{name}</th>"
        for name in ("Model", _RATE, "Passed", "Cost", "A pass", "Tokens", "Steps", "Seconds")
    )
    return (
        "<section><h2>Models</h2><div class=scroll tabindex=0 role=region aria-label=Models>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        "<p class=note>Steps and seconds are medians. The interval is Wilson’s, over tasks. "
        "What came to no verdict counts as not passed.</p></section>"
    )


def _model(one: ModelSummary) -> str:
    checked = bool(one.checked)
    more = [endings(one), *([no_verdicts(one)] if one.broken else [])]
    if len(one.pass_at) > 1:
        more.append(", ".join(f"pass@{k} {rate:.0%}" for k, rate in one.pass_at.items()))
    cells = (
        f"{one.passed} of {one.checked}" if checked else "no checks",
        cost_words(one.cost, one.unpriced),
        cost_words(one.cost // one.passed, one.unpriced) if one.passed else "–",
        count(one.tokens),
        f"{one.steps:g}",
        f"{one.seconds:.1f}",
    )
    rate = f"<td>{_rate(one) if checked else '–'}</td>"
    told = rate + "".join(f"<td class=n>{cell}</td>" for cell in cells)
    return f"<tr><th scope=row>{_text(one.model)}<small>{_text(' · '.join(more))}</small></th>{told}</tr>"


def _rate(one: ModelSummary) -> str:
    """The rate as a number, and as a point on a line from 0 to 1 with its interval."""
    low, high = one.interval.low * 100, one.interval.high * 100
    drawn = (
        f'<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><path class=scale d="M0 6H100"/>'
        f'<path class=span d="M{low:.1f} 6H{high:.1f}"/><path class=at d="M{one.rate * 100:.1f} 1V11"/></svg>'
    )
    return f"<span class=rate><b>{one.rate:.1%}</b> {drawn} <span>{interval(one)}</span></span>"


def _tasks(tasks: Sequence[str], found: Sequence[ModelSummary], results: Sequence[TrialResult]) -> str:
    by_cell: dict[tuple[str, str], list[TrialResult]] = {}
    for result in results:
        by_cell.setdefault((result.task, result.model), []).append(result)
    head = "".join(f"<th>{_text(one.model)}</th>" for one in found)
    rows = "".join(
        f"<tr><th scope=row>{_text(task)}</th>"
        + "".join(f"<td>{_cell(by_cell.get((task, one.model), []))}</td>" for one in found)
        + "</tr>"
        for task in tasks
    )
    return (
        "<section><h2>Tasks</h2><div class=scroll tabindex=0 role=region aria-label=Tasks>"
        f"<table class=tasks><thead><tr><th>Task</th>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _cell(tries: Sequence[TrialResult]) -> str:
    """All tries of a model at a task, in a word."""
    if not tries:
        return "<span class=none>–</span>"
    checked = [one for one in tries if one.outcome]
    if not checked:
        return f"<span class=none>{_text(_listed(in_words(one.ending) for one in tries))}</span>"
    passed = sum(one.passed for one in checked)
    if passed == len(checked):
        return f"<span class=good>✓ {'passed' if passed == 1 else f'all {passed}'}</span>"
    if passed:
        return f"<span class=some>✓ {passed} of {len(checked)}</span>"
    if all(one.outcome == "scored" for one in checked):
        return f"<span class=some>{_listed(f'{one.score:g}' for one in checked)}</span>"
    words = _listed(f"{one.score:g}" if one.outcome == "scored" else outcome_words(one.outcome) for one in checked)
    return f"<span class=bad>⚠ {_text(words)}</span>"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _not_passed(results: Sequence[TrialResult]) -> str:
    if not results:
        return ""
    return f"<section><h2>Not passed</h2>{''.join(_told(result) for result in results)}</section>"


def _told(result: TrialResult) -> str:
    number = f" · try {result.number}" if result.number > 1 else ""
    paid = cost_words(result.cost, result.unpriced)
    cost = "cost unknown" if paid == "unknown" else paid
    said = f"scored {result.score:g}" if result.outcome == "scored" else outcome_words(result.outcome)
    rows = (
        ("Why", _cut(result.why or "no reason was given")),
        ("Answer", _cut(result.answer or "none")),
        (
            "Ended",
            ", ".join((in_words(result.ending), _many(result.steps, "step", "steps"), f"{result.seconds:.1f} s", cost)),
        ),
        ("Look at it", f"<code>angelia show {escape(result.conversation)}</code>"),
    )
    told = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    head = f"<b>{_text(result.task)}</b> <span>{_text(result.model)}{number}</span> <span class=bad>⚠ {said}</span>"
    return f"<details><summary>{head}<i>{_text(one_line(result.why, 120))}</i></summary><dl>{told}</dl></details>"
