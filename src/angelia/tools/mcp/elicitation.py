"""What a server asks in the middle of a call, put to the person: a form field by field, an address as a question."""

from typing import Any

import mcp_types as types

from angelia.core.errors import BadInput
from angelia.core.text import clean, one_line
from angelia.policy.verdict import AnswerServer, VisitForServer
from angelia.tools.asking import AskMeanwhile, NotAsked, Said, SaidNo
from angelia.tools.mcp import forms
from angelia.tools.mcp.forms import FormField, Value, fields_of

MOST_WORDS = 2_000
"""Characters of what a server says with its question."""


class Unanswered(Exception):
    """There is no answer: the person said no, or nobody was there; `why` is for the model, empty where that is all."""

    def __init__(self, action: str, why: str) -> None:
        self.action, self.why = action, why
        super().__init__(why)


async def elicited(server: str, params: types.ElicitRequestParams, ask: AskMeanwhile) -> tuple[types.ElicitResult, str]:
    """What the server is told, and what the model should know of it besides, empty for nothing."""
    message = clean(params.message)[:MOST_WORDS].strip()
    asked = f"The MCP server {server} asked “{one_line(message, 200)}”"
    try:
        if isinstance(params, types.ElicitRequestURLParams):
            await _said(ask, VisitForServer(server, clean(params.url), message))
            return types.ElicitResult(action="accept"), ""
        content = await _filled_in(f"The MCP server {server} asks: {message}", server, params.requested_schema, ask)
        return types.ElicitResult(action="accept", content=content), ""
    except BadInput as fault:
        return types.ElicitResult(action="cancel"), f"{asked}, in a form that could not be shown: {fault}"
    except Unanswered as unanswered:
        action: Any = unanswered.action
        return types.ElicitResult(action=action), f"{asked}, and got no answer: {unanswered.why}"


async def _filled_in(head: str, server: str, schema: dict[str, Any], ask: AskMeanwhile) -> dict[str, Value]:
    """The values of a form.

    Raises:
        Unanswered: it is not to be sent.
        BadInput: it is none.
    """
    fields = fields_of(schema)
    if not fields:
        await _said(ask, AnswerServer(server, head, (forms.YES, forms.DECLINE)))
        return {}
    while True:
        content = await _once(head, server, fields, ask)
        if len(fields) == 1:
            return content
        shown = "\n".join(f"{one.title}: {one.in_words(content[one.name])}" for one in fields if one.name in content)
        review = f"This goes to the MCP server {server}:\n\n{shown or '(nothing)'}"
        if await _said(ask, AnswerServer(server, review, (forms.SEND, forms.AGAIN, forms.DECLINE))) != forms.AGAIN:
            return content


async def _once(head: str, server: str, fields: tuple[FormField, ...], ask: AskMeanwhile) -> dict[str, Value]:
    content: dict[str, Value] = {}
    for number, field in enumerate(fields, 1):
        place = f" ({number} of {len(fields)})" if len(fields) > 1 else ""
        question, fault = f"{head}\n\n{field.title}{place}: {field.wanted}".rstrip(": "), ""
        while True:
            words = await _said(ask, AnswerServer(server, f"{fault}{question}", field.offered))
            if words.casefold() == forms.LEAVE_OUT.casefold() and not field.required:
                break
            try:
                content[field.name] = field.value(words)
                break
            except BadInput as wrong:
                fault = f"{wrong} Please answer once more.\n\n"
    return content


async def _said(ask: AskMeanwhile, question: AnswerServer | VisitForServer) -> str:
    match await ask(question):
        case Said(words=words) if words.strip().casefold() != forms.DECLINE.casefold():
            return words.strip()
        case Said():
            raise Unanswered("decline", "the person does not want to answer.")
        case SaidNo(why=why):
            raise Unanswered("decline", f"the person said no{f': {why}' if why else ''}.")
        case NotAsked(why=why):
            raise Unanswered("cancel", why)
