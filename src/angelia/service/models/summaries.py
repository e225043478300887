"""The model that writes summaries when a conversation outgrows its window."""

import asyncio

from angelia.context.request import ModelRequest, RequestMessage, Role
from angelia.context.summary import INSTRUCTIONS
from angelia.core.content import Text
from angelia.core.entry import StopReason
from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.engine.compacting import Summariser, Written
from angelia.engine.driver import BoundModel
from angelia.models.port import Reply
from angelia.service.models.catalog import ModelCatalog


def summariser(spec: str, model_catalog: ModelCatalog, seconds: float) -> Summariser:
    """A summariser that uses the model `spec`; it takes its seat when it is first needed.

    Raises:
        ConfigError: `spec` names no vendor or no model.
    """
    bound: BoundModel | None = None

    async def write(prompt: str, most_tokens: int) -> Written:
        nonlocal bound
        bound = bound or await model_catalog.bound(spec, INSTRUCTIONS, ())
        try:
            async with asyncio.timeout(seconds):
                return await _written(bound, prompt, most_tokens)
        except TimeoutError:
            said = f"the summary was not finished within {seconds:g} s"
            raise ModelError(Failure(FailureKind.UNREACHABLE, said=said)) from None

    return Summariser(spec, model_catalog.profile(spec).window, write)


async def _written(bound: BoundModel, prompt: str, most_tokens: int) -> Written:
    message = RequestMessage(1, Role.USER, (Text(prompt),))
    request = ModelRequest(bound.profile, bound.system, (), (message,), generation=0, max_output=most_tokens)
    async for piece in bound.session.ask(request, bound.credentials[0]):
        if isinstance(piece, Reply) and piece.stop is StopReason.END:
            text = "".join(part.text for part in piece.parts if isinstance(part, Text))
            return Written(text, piece.usage, await bound.cost(piece.usage))
    raise ModelError(Failure(FailureKind.CUT_OFF, said="the summary did not end by itself"))
