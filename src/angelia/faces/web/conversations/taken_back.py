"""A message that waits to be read, taken back on the page."""

import asyncio
from pathlib import Path

from angelia.client.answers import TakenBackMessage
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.principal import Principal
from angelia.faces.web.asgi.request import RequestRefused
from angelia.faces.words.taken_back import name_of, to_be_written_anew
from angelia.service.conversation.session import Session


async def taken_back(session: Session, seq: int, by: Principal) -> TakenBackMessage:
    """Take back the message of this entry number.

    Raises:
        RequestRefused: it was read already, or none of theirs waits under this number.
    """
    said = await session.take_back(seq, by)
    if said is None:
        raise _refused(session, seq)
    words, attached = await asyncio.to_thread(to_be_written_anew, said, Path(session.workspace))
    texts = [words, *(part.text for part in attached if isinstance(part, Text))]
    files = [name_of(part) for part in attached if not isinstance(part, Text)]
    return TakenBackMessage("\n\n".join(text for text in texts if text), files)


def _refused(session: Session, seq: int) -> RequestRefused:
    """What opened the open turn is as good as read."""
    asked = (one.fact for one in session.log.entries if isinstance(one.fact, e.ModelAsked))
    if seq == session.turn.opened or any(seq in one.heard for one in asked):
        return RequestRefused(409, "This message is read already.", then="Stop the turn if it shall not be answered.")
    return RequestRefused(
        409, "No message of yours waits under this number.", then="The conversation shows what became of it."
    )
