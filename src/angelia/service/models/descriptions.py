"""Puts a picture into words by a second model, for one that takes no pictures."""

from angelia.context.media_forms import AsText, form_of
from angelia.context.request import ModelRequest, RequestMessage, Role
from angelia.core.content import Media, Text
from angelia.engine.transcription import Describe
from angelia.models.port import Reply
from angelia.service.models.catalog import ModelCatalog

_PROMPT = "Describe what is attached, completely and soberly, for a reader who cannot see it. Quote any text in it."


async def describer(spec: str, model_catalog: ModelCatalog) -> Describe:
    """What describes media with the model `spec`.

    Raises:
        ConfigError: the model cannot be used as configured.
    """
    bound = await model_catalog.bound(spec, _PROMPT, ())

    async def describe(media: Media) -> str:
        shown = form_of(media, bound.profile)
        if isinstance(shown, AsText):
            return shown.line
        message = RequestMessage(1, Role.USER, (Text("Describe this."), shown))
        request = ModelRequest(bound.profile, bound.system, (), (message,), generation=0, max_output=2_000)
        async for piece in bound.session.ask(request, bound.credentials[0]):
            if isinstance(piece, Reply):
                return "".join(part.text for part in piece.parts if isinstance(part, Text))
        return ""

    return describe
