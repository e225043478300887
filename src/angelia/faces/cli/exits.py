"""What the process says to a script: one exit code per kind of ending."""

from collections.abc import Mapping

from angelia.core import ending as end

OK = 0
FAILED = 1
"""A setting, the home or a part is wrong; nothing was asked."""
USAGE = 2
"""The command line, or a file that it names, cannot be used."""
FAULT = 70
"""A fault of ours (`EX_SOFTWARE` of sysexits.h)."""

_CODES: tuple[tuple[int, tuple[type[end.Outcome], ...]], ...] = (
    (OK, (end.Answered, end.StayedSilent)),
    (3, (end.Cancelled,)),
    (4, (end.StepLimit, end.BudgetSpent)),
    (5, (end.ModelUnavailable, end.ModelUnknown, end.WrongAddress, end.LoginNeeded, end.OutOfCredit)),
    (6, (end.ContextFull, end.HistoryRefused, end.ModelRefusedMedia)),
    (7, (end.Refused,)),
    (8, (end.NothingToSay, end.ReplyCutOff, end.ToolConfusion, end.GoingInCircles, end.Stalled, end.WorkerFailed)),
    (FAULT, (end.Faulted,)),
)

MEANINGS: Mapping[int, str] = {
    OK: "answered",
    FAILED: "a setting, the home or a part is wrong",
    USAGE: "bad input",
    3: "stopped by a person",
    4: "a cap was reached",
    5: "the model cannot be had: unreachable, unknown, login, credit",
    6: "the conversation or its media do not fit the model",
    7: "the model declined",
    8: "the model fell silent, was cut off, or confused",
    FAULT: "a fault of ours",
}


def code_of(ending: end.Ending) -> int:
    """The exit code of an ending; every ending has one."""
    return next(code for code, kinds in _CODES if isinstance(ending, kinds))
