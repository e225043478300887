"""Questions to the person, as a client puts them, and what the answers mean; pure."""

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.asked import shown_question, title_in_markdown
from angelia.core.content import ToolCall
from angelia.core.text import fenced, literally
from angelia.faces.acp import incoming as i
from angelia.faces.acp import results as r
from angelia.faces.acp.calls import in_question
from angelia.faces.words.questions import REMEMBERED_DAYS

_ANSWER, _OTHER = "answer", "words"
"""Fields of a form: the choice, and words of one's own."""


class AcpYes(Struct, frozen=True):
    """Go on; `days` of 0 means without an end. `answer` is for a question that asks for words."""

    scope: e.Scope = e.Scope.ONCE
    days: int = 0
    answer: str = ""


class AcpNo(Struct, frozen=True):
    """Do not; `why` is told to the model."""

    why: str = ""


Meant = AcpYes | AcpNo


def permission(asked: e.ApprovalAsked, call: ToolCall, session: str, workspace: str) -> r.RequestPermission:
    """Whether a call may run: once, for longer where that can be remembered, or not."""
    shown = shown_question(asked)
    options = [r.PermissionOption("once", "Allow once", "allow_once")]
    if asked.pattern:
        options += [
            r.PermissionOption("conversation", f"Always allow in this session: {shown.pattern}", "allow_always"),
            r.PermissionOption("remembered", f"Allow for {REMEMBERED_DAYS} days here: {shown.pattern}", "allow_always"),
        ]
    options.append(r.PermissionOption("reject", "Reject", "reject_once"))
    return r.RequestPermission(session, in_question(call, workspace, _about(asked)), tuple(options))


def _about(asked: e.ApprovalAsked) -> str:
    """The question as Markdown in which nothing that it is about is taken for Markdown."""
    shown = shown_question(asked)
    whole = fenced(shown.whole) if shown.whole else ""
    return "\n\n".join(part for part in (literally(shown.title), whole, literally(shown.why)) if part)


def choice(asked: e.ApprovalAsked, call: ToolCall, session: str, workspace: str) -> r.RequestPermission:
    """The model's own question with answers to choose from, for a client that has no forms."""
    shown = shown_question(asked)
    options = [r.PermissionOption(f"answer-{n}", text, "allow_once") for n, text in enumerate(shown.choices)]
    options.append(r.PermissionOption("reject", "None of these", "reject_once"))
    title = shown.title if title_in_markdown(asked) else literally(shown.title)
    return r.RequestPermission(session, in_question(call, workspace, title), tuple(options))


def decided(asked: e.ApprovalAsked, answer: i.Permission) -> Meant:
    """What the chosen option means. Whatever is not clearly a yes is a no."""
    chosen = answer.outcome.option_id if answer.outcome.outcome == "selected" else ""
    if asked.asks is e.QuestionKind.CHOICE:
        number = chosen.removeprefix("answer-")
        if number.isdecimal() and int(number) < len(asked.choices):
            return AcpYes(answer=asked.choices[int(number)])
        return AcpNo("none of the choices" if chosen == "reject" else "")
    match chosen:
        case "once":
            return AcpYes()
        case "conversation" if asked.pattern:
            return AcpYes(e.Scope.CONVERSATION)
        case "remembered" if asked.pattern:
            return AcpYes(e.Scope.REMEMBERED, REMEMBERED_DAYS)
        case _:
            return AcpNo()


def form(asked: e.ApprovalAsked, call: ToolCall, session: str) -> r.Elicit:
    """The model's own question as a form: a choice where there is one, and words."""
    shown = shown_question(asked)
    if not asked.choices:
        return r.Elicit(session, call.id, shown.title, r.AcpForm({_ANSWER: r.AcpField("Answer")}, (_ANSWER,)))
    choices = tuple(r.Named(value, text) for value, text in zip(asked.choices, shown.choices, strict=True))
    fields = {_ANSWER: r.AcpField("Choose", choices), _OTHER: r.AcpField("Or in your own words")}
    return r.Elicit(session, call.id, shown.title, r.AcpForm(fields, ()))


def elicited(answer: i.Elicited) -> Meant:
    """What a form's answer means: words win over the choice."""
    if answer.action != "accept":
        return AcpNo("the question was declined" if answer.action == "decline" else "the question was dismissed")
    content = answer.content or {}
    words = [text for name in (_OTHER, _ANSWER) if isinstance(text := content.get(name), str) and text.strip()]
    return AcpYes(answer=words[0].strip()) if words else AcpYes()


def in_words(asked: e.ApprovalAsked) -> str:
    """The model's own question as text, where nothing else is possible; the next prompt is its answer."""
    title = shown_question(asked).title
    return f"{title if title_in_markdown(asked) else literally(title)}\n"
