"""Somebody unknown: a code that the owner confirms, told once and in private; in a group, nothing at all."""

import logging

from angelia.channels.failures import ChannelError
from angelia.channels.incoming import Envelope, Said
from angelia.channels.outgoing import OutText
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import DeliveryId
from angelia.service.line import Line
from angelia.service.reception.desk import Desk
from angelia.service.reception.people import principal_of
from angelia.service.reception.questions import QUESTION, LetIn, value_of

logger = logging.getLogger("angelia.reception")


async def meet(desk: Desk, line: Line, envelope: Envelope) -> None:
    """Give a stranger a code, if they have none that is good, and tell the owner. Nothing they sent is fetched or kept.

    A stranger has no conversation, so the code goes out without a receipt: whoever does not get it writes again.
    """
    if not envelope.private or not isinstance(envelope.what, Said):
        return
    who = principal_of(envelope)
    code = await desk.house.pairings.ask(who.door, who.id, who.name)
    if not code:
        return
    words = (
        f"I do not know you yet. Your code is {code}; it is good for one hour. "
        f"Whoever runs me lets you in with: angelia pair approve {code}"
    )
    try:
        await line.channel.send(envelope.address, OutText(words), f"pair.{who.door}.{who.id}.{code}")
    except ChannelError as error:
        logger.info("a code could not be sent: %s", error)
    await _tell_owner(desk, who.door, who.id, f"{who.name or who.id} ({who}) asks to talk to me. The code is {code}.")


async def _tell_owner(desk: Desk, door: str, person: str, words: str) -> None:
    session = await desk.owners_chat(door)
    if session is None:
        return
    conversation, address = session
    let, no = (value_of(LetIn(door, person, yes)) for yes in (True, False))
    asked = e.DeliveryQueued(
        DeliveryId(f"{conversation.conversation}.p{door}.{person}.{desk.house.clock()}"),
        address,
        (Text(words),),
        QUESTION,
        choices=(e.Choice("Let them in", let), e.Choice("No", no)),
    )
    await conversation.record(asked)
