"""What an ask comes to, as the result of a call: in words, and as a value."""

from collections.abc import Sequence
from typing import Any, assert_never

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from msgspec import Struct

from angelia.core import ending as end
from angelia.core.sentences import sentence
from angelia.faces.mcp.asks import AskOutcome, TurnAsks, TurnCame, TurnGoesOn
from angelia.faces.mcp.questions import form, shown


class AskedFile(Struct, frozen=True):
    """A file that was sent: where its copy lies on this machine, its media type, and its bytes."""

    name: str
    path: str
    mime: str
    size: int


class AskAnswer(Struct, frozen=True):
    """What `ask` gives back besides the words. `ending` is how the turn ended, empty while it has not."""

    state: str
    conversation: str
    key: str
    ending: str = ""
    files: tuple[AskedFile, ...] = ()
    notes: tuple[str, ...] = ()
    cost: float | None = None


def elicitation(outcome: TurnAsks) -> types.ElicitRequestFormParams:
    """The form that a client shows of a question."""
    return types.ElicitRequestFormParams(message=shown(outcome.asked), requested_schema=form(outcome.asked))


def has_forms(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client can show a form to its person."""
    able = context.session.client_capabilities
    asked = able.elicitation if able else None
    return asked is not None and (asked.form is not None or asked.url is None)


def said_result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    """A result of words alone."""
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)


def ask_result(outcome: AskOutcome) -> types.CallToolResult:
    """What came of an ask, in words and as a value; only an answer has no error and the state `answered`."""
    match outcome:
        case TurnCame(ending=ending):
            answered = isinstance(ending, end.Answered)
            files = tuple(AskedFile(one.name, str(one.path), one.mime, one.size) for one in outcome.files)
            lines = [outcome.text if answered else sentence(ending)]
            lines += [f"file: {one.name}, at {one.path}" for one in files]
            answer = AskAnswer(
                "answered" if answered else "ended",
                outcome.conversation,
                outcome.key,
                type(ending).__name__,
                files,
                outcome.notes,
                outcome.cost,
            )
            return _with(answer, [*lines, *outcome.notes], is_error=not answered)
        case TurnAsks():
            answer = AskAnswer("asks", outcome.conversation, outcome.key)
            how = f"It waits for its person's answer: `angelia chat --resume {outcome.conversation[-8:]}`, or any door."
            return _with(answer, [shown(outcome.asked), how, _again(outcome.key)])
        case TurnGoesOn():
            answer = AskAnswer("working", outcome.conversation, outcome.key)
            return _with(answer, ["It is not finished, and goes on.", _again(outcome.key)])
        case _:
            assert_never(outcome)


def _again(key: str) -> str:
    return f"Call `ask` with the key {key!r} alone to wait on; nothing is asked twice."


def _with(answer: AskAnswer, lines: Sequence[str], *, is_error: bool = False) -> types.CallToolResult:
    result = said_result("\n".join(line for line in lines if line), is_error=is_error)
    return result.model_copy(update={"structured_content": msgspec.to_builtins(answer)})
