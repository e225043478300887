"""Questions to a person: the numbered answers to one, and what a typed text means."""

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.asked import shown_question

REMEMBERED_DAYS = 30


class Yes(Struct, frozen=True):
    """Go on; for how long, and with which words if the question was for words. `days` of 0 means no end."""

    scope: e.Scope = e.Scope.ONCE
    days: int = 0
    answer: str = ""


class No(Struct, frozen=True):
    """Do not; `why` is told to the model."""

    why: str = ""


class NewMessage(Struct, frozen=True):
    """Not an answer but a message: it makes the question moot and is read next."""


Answer = Yes | No | NewMessage


def offered(asked: e.ApprovalAsked) -> list[tuple[str, Answer]]:
    """The answers to choose from, in the order of their numbers."""
    shown = shown_question(asked)
    if asked.asks is e.QuestionKind.CHOICE:
        return [(words, Yes(answer=choice)) for words, choice in zip(shown.choices, asked.choices, strict=True)]
    yes: list[tuple[str, Answer]] = [("yes, once", Yes())]
    if asked.pattern:
        yes += [
            (f"yes, in this conversation: {shown.pattern}", Yes(e.Scope.CONVERSATION)),
            (f"yes, for {REMEMBERED_DAYS} days here: {shown.pattern}", Yes(e.Scope.REMEMBERED, REMEMBERED_DAYS)),
        ]
    return [*yes, ("no", No())]


def meant(asked: e.ApprovalAsked, text: str) -> Answer:
    """What a typed text means.

    >>> asked = e.ApprovalAsked("c1_0", "Run `make`?", "")
    >>> meant(asked, "1"), meant(asked, "n"), meant(asked, "use ninja instead")
    (Yes(scope=<Scope.ONCE: 'once'>, days=0, answer=''), No(why=''), NewMessage())
    """
    word = text.strip().lower().rstrip(".")
    answers = offered(asked)
    if word.isdecimal() and 1 <= int(word) <= len(answers):
        return answers[int(word) - 1][1]
    if asked.asks is e.QuestionKind.CHOICE:
        return Yes(answer=text.strip())
    match word:
        case "y" | "yes":
            return Yes()
        case "n" | "no":
            return No()
        case _:
            return NewMessage()


def numbered(asked: e.ApprovalAsked) -> str:
    """The answers as lines."""
    lines = [f"  {number}  {words}" for number, (words, _) in enumerate(offered(asked), 1)]
    other = "or write your answer" if asked.asks is e.QuestionKind.CHOICE else "or write what to do instead"
    return "\n".join([*lines, f"     {other}"])
