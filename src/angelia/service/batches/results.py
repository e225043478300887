"""What came of a trial, as its log says it, and what the trials of a model come to; pure."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean, median

from msgspec import Struct

from angelia.context.usage_meter import UsageMeter
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.sentences import sentence
from angelia.service.batches.statistics import Interval, pass_at, wilson
from angelia.service.batches.tasks import Task
from angelia.service.batches.trials import TaskTrial
from angelia.service.delegation.outcome import unpriced_in

_MODEL_AWAY = (end.ModelUnavailable, end.ModelUnknown, end.LoginNeeded, end.OutOfCredit, end.WrongAddress)
_ANSWERS = ("answer", "ending")


class TrialResult(Struct, frozen=True, kw_only=True):
    """One line of the results. `cost` is millionths of a US dollar; `unpriced` counts replies whose price is unknown.
    `seconds` are from the question to the ending. Without a check `outcome` is empty.
    """

    task: str
    model: str
    number: int
    conversation: str
    ending: str
    outcome: str = ""
    score: float = 0.0
    why: str = ""
    answer: str = ""
    cost: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    check_seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether its check said yes, or gave the whole number."""
        return self.outcome in VERDICTS and self.score >= 1

    @property
    def broken(self) -> bool:
        """Whether its check came to no verdict."""
        return self.outcome not in ("", *VERDICTS)


VERDICTS = (e.CheckOutcome.PASSED, e.CheckOutcome.FAILED, e.CheckOutcome.SCORED)


def last_ending(entries: Sequence[e.Entry]) -> end.Ending | None:
    """How the last turn of a trial ended; None while it is open."""
    closed: end.Ending | None = None
    for entry in entries:
        match entry.fact:
            case e.UserSaid():
                closed = None
            case e.TurnClosed(ending=ending):
                closed = ending
            case _:
                pass
    return closed


def is_away(ending: end.Ending | None) -> bool:
    """Whether an ending says nothing of a task, which is gone on with once the model can be had. One by deaths of our
    own process says nothing of the model.
    """
    return isinstance(ending, _MODEL_AWAY) and not (isinstance(ending, end.ModelUnavailable) and ending.died)


def is_final(ending: end.Ending | None, task: Task) -> bool:
    """Whether an ending is the task's own: the model could be had, and no other money than the task's ran out."""
    match ending:
        case None:
            return False
        case end.BudgetSpent(what=what, cap=cap):
            if what.startswith("cost this"):
                return bool(task.max_cost) and cap == f"${task.max_cost:.4f}"
            return not what.endswith("today")
        case _:
            return not is_away(ending)


def check_of(entries: Sequence[e.Entry]) -> e.Checked | None:
    """What its check came to, if it was checked."""
    return next((entry.fact for entry in entries if isinstance(entry.fact, e.Checked)), None)


def result_of(trial: TaskTrial, conversation: str, entries: Sequence[e.Entry]) -> TrialResult | None:
    """The result that a log holds; None while there is none."""
    ending, checked = last_ending(entries), check_of(entries)
    if ending is None or not is_final(ending, trial.task) or (trial.task.check and checked is None):
        return None
    usages = [one.fact.usage for one in entries if isinstance(one.fact, e.ModelSaid)]
    asked = next(entry.at for entry in entries if isinstance(entry.fact, e.UserSaid))
    closed = max(entry.at for entry in entries if isinstance(entry.fact, e.TurnClosed))
    return TrialResult(
        task=trial.task.id,
        model=trial.model,
        number=trial.number,
        conversation=conversation,
        ending=type(ending).__name__,
        outcome=checked.outcome if checked else "",
        score=checked.score if checked else 0.0,
        why=checked.why if checked else sentence(ending),
        answer=answer_of(entries),
        cost=cost_of(entries),
        unpriced=unpriced_in(entries),
        input_tokens=sum(usage.input for usage in usages),
        output_tokens=sum(usage.output for usage in usages),
        steps=len(usages),
        seconds=(closed - asked) / 1000,
        check_seconds=checked.seconds if checked else 0.0,
    )


def cost_of(entries: Sequence[e.Entry]) -> int:
    """What a trial has cost so far with its helpers, millionths of a US dollar."""
    ended = (entry.fact.child for entry in entries if isinstance(entry.fact, e.WorkEnded))
    return UsageMeter(entries).cost + sum(child.cost for child in ended if child is not None)


def answer_of(entries: Sequence[e.Entry]) -> str:
    """The words with which the last turn was closed."""
    sent = [entry.fact for entry in entries if isinstance(entry.fact, e.DeliveryQueued)]
    said = next((fact.parts for fact in reversed(sent) if fact.origin in _ANSWERS), ())
    return "\n".join(part.text for part in said if isinstance(part, Text))


class ModelSummary(Struct, frozen=True, kw_only=True):
    """What the trials of one model come to. `rate` is the mean share of passes over tasks, `interval` its 95 %; both
    count whatever is no pass as none. `pass_at` has an estimate for each number of tries. Costs are millionths.
    """

    model: str
    tasks: int
    trials: int
    checked: int
    passed: int
    rate: float
    interval: Interval
    pass_at: dict[int, float]
    score: float
    cost: int
    unpriced: int
    tokens: int
    steps: float
    seconds: float
    endings: dict[str, int]
    broken: dict[str, int]


def summaries(results: Sequence[TrialResult]) -> list[ModelSummary]:
    """One for each model, in the order in which they come."""
    return [_summary(model, results) for model in dict.fromkeys(result.model for result in results)]


def _summary(model: str, results: Sequence[TrialResult]) -> ModelSummary:
    own = [result for result in results if result.model == model]
    by_task: dict[str, list[bool]] = {}
    for result in own:
        if result.outcome:
            by_task.setdefault(result.task, []).append(result.passed)
    checked = [result for result in own if result.outcome]
    rates = [fmean(passes) for passes in by_task.values()]
    rate = fmean(rates) if rates else 0.0
    fewest = min((len(passes) for passes in by_task.values()), default=0)
    return ModelSummary(
        model=model,
        tasks=len({result.task for result in own}),
        trials=len(own),
        checked=len(checked),
        passed=sum(result.passed for result in own),
        rate=rate,
        interval=wilson(rate, len(rates)),  # tries at one task are not independent: tasks are what is counted
        pass_at={
            k: fmean(pass_at(k, len(passes), sum(passes)) for passes in by_task.values()) for k in range(1, fewest + 1)
        },
        score=fmean(result.score for result in checked) if checked else 0.0,
        cost=sum(result.cost for result in own),
        unpriced=sum(result.unpriced for result in own),
        tokens=sum(result.input_tokens + result.output_tokens for result in own),
        steps=median(result.steps for result in own),
        seconds=median(result.seconds for result in own),
        endings=dict(Counter(result.ending for result in own).most_common()),
        broken=dict(Counter(result.outcome for result in own if result.broken).most_common()),
    )
