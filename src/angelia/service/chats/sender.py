"""Somebody who may speak, as they stand before us with one message; and what comes of a verb or an answer."""

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.principal import OWNER, Principal
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.people import ChatKey
from angelia.service.conversation.session import Session


class Sender(Struct, frozen=True):
    """Who speaks, from where, and the conversation of that chat, None before its first.

    `key` is the envelope's; `reply_to` is empty where answers stand alone.
    """

    line: OpenChannel
    chat_key: ChatKey
    person: Principal
    key: str
    reply_to: str
    private: bool
    session: Session | None


class CommandOutcome(Struct, frozen=True):
    """What a verb comes to: facts for one commit, and the words of its answer.

    `session` is the conversation that they belong to, None for the caller's own.
    """

    reply: str
    facts: tuple[e.AnyFact, ...] = ()
    session: Session | None = None
    choices: tuple[e.QuestionChoice, ...] = ()


def may_stop(sender: Sender, session: Session) -> bool:
    """Whether somebody may end the running turn: the owner, and whoever opened it."""
    first = session.turn.opener
    return sender.person == OWNER or (first is not None and first.principal == sender.person)


def may_change(sender: Sender) -> bool:
    """Whether somebody may say which conversation a chat is in, and how it works: alone with us, everybody.

    In a group that shares one conversation the owner alone; where a channel has none, whoever began it.
    """
    if sender.private or sender.chat_key.person or sender.person == OWNER or sender.session is None:
        return True
    return not sender.line.settings.owners and sender.session.owner == sender.person
