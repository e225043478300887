"""What a check may say, and what is made of everything else; pure."""

from collections.abc import Sequence
from math import isfinite

from angelia.core.entry import Checked, CheckOutcome

MOST_WORDS = 2_000
"""Characters of a reason that are kept."""


def verdict(said: object, seconds: float = 0.0) -> Checked:
    """True, False or a number from 0 to 1, alone or as a pair with a reason; anything else is no verdict.

    >>> verdict(True).outcome, verdict((0.25, "a quarter")).score, verdict("yes").outcome
    (<CheckOutcome.PASSED: 'passed'>, 0.25, <CheckOutcome.UNCLEAR: 'unclear'>)
    """
    value, why = said, ""
    if isinstance(said, Sequence) and not isinstance(said, str) and len(said) == 2 and isinstance(said[1], str):
        value, why = said
    if isinstance(value, bool):
        outcome = CheckOutcome.PASSED if value else CheckOutcome.FAILED
        return Checked(outcome, float(value), why[:MOST_WORDS], seconds)
    if isinstance(value, int | float) and isfinite(value) and 0 <= value <= 1:
        return Checked(CheckOutcome.SCORED, float(value), why[:MOST_WORDS], seconds)
    shown = repr(said)[:200]
    told = f"The check answered {shown}: that is neither True, False nor a number from 0 to 1."
    return Checked(CheckOutcome.UNCLEAR, why=told, seconds=seconds)


def of_command(status: int, output: str, seconds: float) -> Checked:
    r"""A command passes with 0 and fails with anything else; the last line is its reason. With 0 and a last line such
    as `score=0.5` it gives that number.

    >>> of_command(0, "a\nscore=0.5\n", 1.0).score, of_command(1, "boom\n", 1.0).why
    (0.5, 'exit 1: boom')
    """
    last = output.strip().rpartition("\n")[2].strip()[:MOST_WORDS]
    if status:
        return Checked(CheckOutcome.FAILED, why=f"exit {status}: {last}".rstrip(": "), seconds=seconds)
    name, equals, number = last.partition("=")
    if equals and name.strip() == "score":
        try:
            return verdict((float(number), last), seconds)
        except ValueError:
            return verdict(last, seconds)
    return Checked(CheckOutcome.PASSED, 1.0, last, seconds)
