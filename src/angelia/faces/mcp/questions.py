"""A question to the person as the form that a client shows, and what was filled in as their decision."""

from typing import Any

from angelia.core import entry as e
from angelia.faces.words.question_lines import question_lines
from angelia.faces.words.questions import No, Yes, meant, numbered

YES, NO = "yes, once", "no"
FIELD = "answer"


def name_of(asked: e.ApprovalAsked) -> str:
    """Names one question with the very arguments that it is about: an answer to another one does not fit it."""
    return f"{asked.call} {asked.digest}"


def shown(asked: e.ApprovalAsked) -> str:
    """The whole of it, with the choices where the model itself asks."""
    own = asked.asks is e.QuestionKind.CHOICE
    return f"{question_lines(asked)}\n{numbered(asked)}" if own else question_lines(asked)


def form(asked: e.ApprovalAsked) -> dict[str, Any]:
    """The schema of the form: one field. A yes given here is for once; what lasts is given at a door of ours."""
    own = asked.asks is e.QuestionKind.CHOICE
    field: dict[str, Any] = {"type": "string", "title": "Your answer" if own else "Decision"}
    choice = {} if own else {"enum": [YES, NO]}
    return {"type": "object", "properties": {FIELD: {**field, **choice}}, "required": [FIELD]}


def decision(asked: e.ApprovalAsked, action: str, content: dict[str, Any] | None) -> Yes | No | None:
    """What the person decided; None where they dismissed the form, which leaves the question open.

    >>> decision(e.ApprovalAsked("c1_0", "Run `make`?", ""), "accept", {"answer": "yes, once"})
    Yes(scope=<Scope.ONCE: 'once'>, days=0, answer='')
    >>> decision(e.ApprovalAsked("c1_0", "Run `make`?", ""), "accept", {})
    No(why='')
    """
    if action == "cancel":
        return None
    answer = str((content or {}).get(FIELD, "")).strip()
    if action != "accept" or not answer:
        return No()
    if asked.asks is e.QuestionKind.CHOICE:
        found = meant(asked, answer)
        return found if isinstance(found, Yes) else No()
    return Yes() if answer == YES else No()
