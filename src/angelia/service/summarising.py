"""The model that writes summaries when a conversation outgrows its window."""

import asyncio

from angelia.context.request import Message, ModelRequest, Role
from angelia.context.summary import INSTRUCTIONS
from angelia.core.content import Text
from angelia.core.entry import StopReason
from angelia.core.errors import ModelFailed
from angelia.core.failure import Failure, FailureKind
from angelia.engine.driver import Seat
from angelia.engine.roommaking import Summariser, Written
from angelia.models.port import Reply
from angelia.service.seating import Seating


def summariser(spec: str, seating: Seating, seconds: float) -> Summariser:
    """A summariser that uses the model `spec`; it takes its seat when it is first needed.

    Raises:
        ConfigError: `spec` names no vendor or no model.
    """
    seat: Seat | None = None

    async def write(prompt: str, most_tokens: int) -> Written:
        nonlocal seat
        seat = seat or await seating.seat(spec, INSTRUCTIONS, ())
        try:
            async with asyncio.timeout(seconds):
                return await _written(seat, prompt, most_tokens)
        except TimeoutError:
            said = f"the summary was not finished within {seconds:g} s"
            raise ModelFailed(Failure(FailureKind.UNREACHABLE, said=said)) from None

    return Summariser(spec, seating.profile(spec).window, write)


async def _written(seat: Seat, prompt: str, most_tokens: int) -> Written:
    message = Message(1, Role.USER, (Text(prompt),))
    request = ModelRequest(seat.profile, seat.system, (), (message,), generation=0, max_output=most_tokens)
    async for piece in seat.session.ask(request, seat.credentials[0]):
        if isinstance(piece, Reply) and piece.stop is StopReason.END:
            text = "".join(part.text for part in piece.parts if isinstance(part, Text))
            return Written(text, piece.usage, await seat.cost(piece.usage))
    raise ModelFailed(Failure(FailureKind.CUT_OFF, said="the summary did not end by itself"))
