"""The slash commands of a session, in one table."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from angelia.core.principal import OWNER
from angelia.core.text import fenced
from angelia.faces.acp import incoming as i
from angelia.faces.acp import outgoing as o
from angelia.faces.words.usage_meter import money
from angelia.service.conversation import undo_command

if TYPE_CHECKING:
    from angelia.faces.acp.conversation import Conversation

Act = Callable[["Conversation", str], Awaitable[str]]


async def _compact(conversation: "Conversation", keep: str) -> str:
    await conversation.session.compact(by=OWNER, keep=keep)
    return "The conversation is folded before its next request; nothing is lost."


async def _pin(conversation: "Conversation", text: str) -> str:
    await conversation.session.pin(text, by=OWNER)
    return "Pinned: these words are kept word for word."


async def _unpin(conversation: "Conversation", text: str) -> str:
    await conversation.session.unpin(text, by=OWNER)
    return "Not pinned any more."


async def _usage(conversation: "Conversation", _: str) -> str:
    spent = await conversation.app.transcript.spent(OWNER, 0, conversation.session.conversation)
    unknown = f", and {spent.unpriced} replies without a known price" if spent.unpriced else ""
    return f"This conversation: {spent.tokens:,} tokens, {money(spent.cost)}{unknown}."


async def _status(conversation: "Conversation", _: str) -> str:
    session = conversation.session
    rows = [
        ("Conversation", session.conversation),
        ("Folder", session.workspace),
        ("Model", conversation.choosing.spec),
        ("Mode", conversation.app.mode(session).value),
        ("Home", str(conversation.app.loaded.home)),
    ]
    return "\n".join(f"- {name}: `{value}`" for name, value in rows)


async def _undo(conversation: "Conversation", word: str) -> str:
    return fenced(await undo_command.undo_command(conversation.app.undo_services, conversation.session, word, by=OWNER))


_ACTS: dict[str, Act] = {
    "compact": _compact,
    "pin": _pin,
    "unpin": _unpin,
    "undo": _undo,
    "usage": _usage,
    "status": _status,
}

COMMANDS = {
    command.name: command
    for command in (
        o.AcpCommand("compact", "Fold the older conversation", o.CommandInput("what matters")),
        o.AcpCommand("pin", "Keep words word for word, whatever is folded", o.CommandInput("the words")),
        o.AcpCommand("unpin", "Let pinned words be folded again", o.CommandInput("some of the words")),
        o.AcpCommand("undo", "Show what taking back changes would do", o.CommandInput("turn, back, yes, list")),
        o.AcpCommand("usage", "Tokens and money of this conversation"),
        o.AcpCommand("status", "Conversation, folder, model, mode"),
    )
}
"""As the client offers them."""


def command_in(blocks: Sequence[i.Block]) -> "Callable[[Conversation], Awaitable[str]] | None":
    """The command that a prompt is, if it is nothing else."""
    match blocks:
        case [i.TextBlock(text=text)]:
            name, _, rest = text.strip().partition(" ")
        case _:
            return None
    act = _ACTS.get(name[1:]) if name.startswith("/") else None
    return (lambda conversation: act(conversation, rest.strip())) if act else None
