"""Where a question of a conversation goes, and how: whole, before there is anything to press.

A permission is the owner's to give. In a turn that the owner opened it is asked there; in a guest's it is asked in the
owner's own chat, saying for whom, and the guest is told so.
"""

from collections.abc import Awaitable, Callable

from angelia.channels.capabilities import Capabilities, Kind, NativeMethod
from angelia.channels.port import abilities_for
from angelia.core import entry as e
from angelia.core.asked import ShownQuestion, shown_question, title_in_markdown
from angelia.core.content import Content, Media, Text
from angelia.core.counts import counted
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.text import fenced, literally
from angelia.service.chats.delivery import NOTICE
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.questions import QUESTION, choices_of, question_id

MOST_MESSAGES = 6
"""Messages that a question is told in, where a file would do: more are no longer read one by one."""
MOST_WITHOUT_FILES = 60
"""The same where the network takes no files, such as IRC with its 400 bytes a message."""

Store = Callable[[bytes, str], Awaitable[Media]]
"""Makes a file of bytes and a name."""


async def asked_in_chat(
    conversation: ConversationId, address: e.Address, asked: e.ApprovalAsked, to: tuple[OpenChannel, str], store: Store
) -> e.DeliveryQueued:
    """The delivery that puts a question to a chat; its id is the question's, so it is asked once.

    What it is about stands in its first messages or in a file, and what can be pressed beneath its last one. `to` is
    the chat's channel and for whom it is asked, which is empty for the owner.
    """
    line, whom = to
    shown = shown_question(asked)
    title = shown.title if title_in_markdown(asked) else literally(shown.title)
    head = "\n\n".join(part for part in (whom, title) if part)
    tail = _tail(asked, shown)
    parts: tuple[Content, ...]
    if shown.whole and _needs_a_file(shown.whole, abilities_for(line.channel, address)):
        file = await store(shown.whole.encode(), "question.txt")
        told = f"{head}\n\n{_where_it_is(shown, abilities_for(line.channel, address))}"
        parts = (Text(told), file, Text(f"The file above is the whole of what is asked.\n\n{tail}".strip()))
    else:
        whole = fenced(shown.whole) if shown.whole else ""
        parts = (Text("\n\n".join(part for part in (head, whole, tail) if part)),)
    if asked.picture is not None:
        parts = (asked.picture, *parts)
    choices = choices_of(conversation, asked)
    return e.DeliveryQueued(question_id(conversation, asked), address, parts, QUESTION, choices=choices)


def told_to_guest(conversation: ConversationId, address: e.Address, asked: e.ApprovalAsked) -> e.DeliveryQueued:
    """What a guest is told whose turn waits for the owner; of a question in words only why it is asked."""
    shown = shown_question(asked)
    about = shown.title if asked.asks is e.QuestionKind.PERMISSION else shown.why
    words = f"{literally(about)}\n\nThat needs the owner's yes. They have been asked. /stop ends it."
    return e.DeliveryQueued(DeliveryId(f"{question_id(conversation, asked)}.guest"), address, (Text(words),), NOTICE)


def _tail(asked: e.ApprovalAsked, shown: ShownQuestion) -> str:
    if asked.asks is e.QuestionKind.CHOICE:
        return "" if shown.choices else "Answer with /approve and your words."
    lasting = f"“Allow in this conversation” covers:\n{fenced(shown.pattern)}" if shown.pattern else ""
    return "\n\n".join(part for part in (literally(shown.why) if shown.why else "", lasting) if part)


def _needs_a_file(whole: str, capabilities: Capabilities) -> bool:
    """Whether it would be more messages than are read. The bytes of a text are no fewer than its characters."""
    most = MOST_MESSAGES if _takes_files(capabilities) else MOST_WITHOUT_FILES
    return len(whole.encode()) > most * capabilities.text_limit


def _takes_files(capabilities: Capabilities) -> bool:
    return isinstance(capabilities.ways[Kind.DOCUMENT], NativeMethod)


def _where_it_is(shown: ShownQuestion, capabilities: Capabilities) -> str:
    """What stands in place of the whole. Where no file arrives, neither does anything that could be pressed."""
    if _takes_files(capabilities):
        return f"All of it, {counted(shown.lines, 'line')}, is in the file."
    size = max(1, len(shown.whole.encode()) // 1000)
    return (
        f"It is too long for this chat: {size:,} kB, more than {MOST_WITHOUT_FILES} messages, and no files go here. "
        "If no link to it follows (the setting gateway.links), it cannot be allowed here, since it could not be shown "
        "whole. Answer it in the terminal or on the page, or refuse it here: /deny."
    )
