"""Somebody who may speak, as they stand before us with one message."""

from msgspec import Struct

from angelia.core.person_role import PersonRole
from angelia.core.principal import Principal
from angelia.policy.roles import Right, may
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.people import ChatKey
from angelia.service.conversation.session import Session


class Sender(Struct, frozen=True):
    """Who speaks, from where, and the conversation of that chat, None before its first.

    `key` is the envelope's; `reply_to` is empty where answers stand alone; `role` is what they are here.
    """

    line: OpenChannel
    chat_key: ChatKey
    person: Principal
    key: str
    reply_to: str
    private: bool
    session: Session | None
    role: PersonRole | None = None


def may_stop(sender: Sender) -> bool:
    """Whether somebody may end the running turn, if there is one: whoever leads, and whoever opened it."""
    first = sender.session.turn.opener if sender.session else None
    return first is None or may(sender.role, Right.LEAD) or first.principal == sender.person


def may_change(sender: Sender) -> bool:
    """Whether somebody may say which conversation a chat is in, and how it works: alone with us, everybody.

    In a group that shares one conversation whoever leads; where a channel has no owner, whoever began it, too.
    """
    if sender.private or sender.chat_key.person or may(sender.role, Right.LEAD) or sender.session is None:
        return True
    return not sender.line.settings.owners and sender.session.owner == sender.person
