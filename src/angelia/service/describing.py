"""Puts a picture into words by a second model, for one that takes no pictures."""

from angelia.context.forms import Cannot, form_of
from angelia.context.request import Message, ModelRequest, Role
from angelia.core.content import Media, Text
from angelia.engine.hearing import Describe
from angelia.models.port import Reply
from angelia.service.seating import Seating

_PROMPT = "Describe what is attached, completely and soberly, for a reader who cannot see it. Quote any text in it."


async def describer(spec: str, seating: Seating) -> Describe:
    """What describes media with the model `spec`.

    Raises:
        ConfigError: the model cannot be used as configured.
    """
    seat = await seating.seat(spec, _PROMPT, ())

    async def describe(media: Media) -> str:
        shown = form_of(media, seat.profile)
        if isinstance(shown, Cannot):
            return shown.line
        message = Message(1, Role.USER, (Text("Describe this."), shown))
        request = ModelRequest(seat.profile, seat.system, (), (message,), generation=0, max_output=2_000)
        async for piece in seat.session.ask(request, seat.credentials[0]):
            if isinstance(piece, Reply):
                return "".join(part.text for part in piece.parts if isinstance(part, Text))
        return ""

    return describe
