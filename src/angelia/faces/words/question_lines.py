"""A question to the person in lines of a terminal: never cut, however long it is."""

from angelia.core.asked import ShownQuestion, shown_question
from angelia.core.counts import counted
from angelia.core.entry import ApprovalAsked

_MARGIN = "│ "
"""Stands before each line of what a yes would be to, so that none of them passes for one of ours."""
_SCREEN = 20
"""Lines after which the question is put once more: its beginning may have left the screen."""


def question_lines(asked: ApprovalAsked) -> str:
    """The question, the whole of what it is about, and why it is asked."""
    shown = shown_question(asked)
    whole = [f"{_MARGIN}{line}" for line in shown.whole.split("\n")] if shown.whole else []
    return "\n".join([shown.title, *whole, *_once_more(shown), *filter(None, [shown.why])])


def _once_more(shown: ShownQuestion) -> list[str]:
    if shown.lines <= _SCREEN:
        return []
    return [f"{shown.title} All of it stands above: {counted(shown.lines, 'line')}, {len(shown.whole):,} characters."]
