"""What a second model does for a conversation: summaries, pictures in words, recordings written down.

No door has to do anything about it. A door stores a recording or a picture as `Media` in the person's message, like
any other file, and acknowledges it; before the next request the engine asks what is configured here
(`engine.transcription`), and what it says becomes a fact of the log beside it. Where it fails, the sender is told in
the same turn.
"""

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from angelia.context.media_forms import AsText, Nature, form_of, nature
from angelia.context.request import ModelRequest, RequestMessage, Role
from angelia.context.summary import INSTRUCTIONS
from angelia.core.content import Media, Text
from angelia.core.entry import StopReason
from angelia.core.errors import ConfigError, KeyMissing, MissingPart, ModelError, NotFound
from angelia.core.failure import Failure, FailureKind
from angelia.engine.compaction import Summariser, Written
from angelia.engine.driver import BoundModel
from angelia.engine.transcription import Describe, Transcriber, Transcription, Wording
from angelia.models.port import Reply
from angelia.service.models.catalog import ModelCatalog
from angelia.service.settings.config import Config
from angelia.store.media.blobs import BlobStore

if TYPE_CHECKING:
    from angelia.models.speech.port import Listener


def summariser(spec: str, model_catalog: ModelCatalog, seconds: float, instructions: str = INSTRUCTIONS) -> Summariser:
    """A summariser that uses the model `spec`, or what writes by other `instructions`; it is bound when it is first
    needed.

    Raises:
        ConfigError: `spec` names no vendor or no model.
    """
    bound: BoundModel | None = None

    async def write(prompt: str, most_tokens: int) -> Written:
        nonlocal bound
        bound = bound or await model_catalog.bound(spec, instructions, ())
        try:
            async with asyncio.timeout(seconds):
                return await _written(bound, prompt, most_tokens)
        except TimeoutError:
            said = f"it was not finished within {seconds:g} s"
            raise ModelError(Failure(FailureKind.UNREACHABLE, said=said)) from None

    return Summariser(spec, model_catalog.profile(spec).window, write)


async def _written(bound: BoundModel, prompt: str, most_tokens: int) -> Written:
    message = RequestMessage(1, Role.USER, (Text(prompt),))
    request = ModelRequest(bound.profile, bound.system, (), (message,), generation=0, max_output=most_tokens)
    async for piece in bound.session.ask(request, bound.credentials[0]):
        if isinstance(piece, Reply) and piece.stop is StopReason.END:
            text = "".join(part.text for part in piece.parts if isinstance(part, Text))
            return Written(text, piece.usage, (await bound.cost(piece.usage)).cost)
    raise ModelError(Failure(FailureKind.CUT_OFF, said="it did not end by itself"))


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


USUAL = "base"
"""The Whisper that `local` means: 74 million weights, 140 MB, many languages (openai/whisper, README)."""


async def wording(config: Config, model_catalog: ModelCatalog, blobs: BlobStore) -> Wording:
    """What puts media into words, from the settings `transcriber`, `language` and `describer`; empty for none.

    Raises:
        ConfigError, KeyMissing: a model cannot be used as configured.
        MissingPart: Whisper is not installed.
    """
    heard, language = config.transcriber, config.language
    listens = await listening(heard, language, model_catalog, blobs) if heard else None
    describe = await describer(config.describer, model_catalog) if config.describer else None
    return Wording(_by_kind(listens, describe) if listens or describe else None, listens)


async def listening(spec: str, language: str, model_catalog: ModelCatalog, blobs: BlobStore) -> Transcriber:
    """The transcriber that `spec` names: `vendor:model`, `local[:MODEL]`, or `command:LINE` with `{file}` in it.

    `language` is the one in which people speak (ISO 639-1), empty where that is found out for each recording.

    Raises:
        ConfigError, KeyMissing, MissingPart: it cannot be used; says what to do.
    """
    listener = await _listener(spec, model_catalog)

    async def listen(media: Media) -> Transcription:
        try:
            path = await blobs.local(media.blob.sha256)
        except NotFound as error:
            raise NotFound("its bytes are no longer kept") from error
        words = await listener.listen(path, media.blob.mime, language)
        return Transcription(words.text, words.cost)

    from angelia.models.speech.port import COMMAND

    vendor = model_catalog.rows.get(spec.partition(":")[0])
    may_cost = -1 if vendor and not vendor.local else 0
    return Transcriber("a program of yours" if spec.startswith(f"{COMMAND}:") else spec, listen, may_cost)


async def _listener(spec: str, model_catalog: ModelCatalog) -> "Listener":
    from angelia.models.speech.command import configured, whisper
    from angelia.models.speech.http import HttpListener
    from angelia.models.speech.port import COMMAND, LOCAL

    kind, _, rest = spec.partition(":")
    if kind == LOCAL:
        if find_spec("faster_whisper") is None:
            raise MissingPart("Writing down recordings on this machine", "voice")
        return whisper(rest or USUAL)
    if kind == COMMAND:
        return configured(rest)
    if kind not in model_catalog.rows or not rest:
        raise ConfigError(
            f"The setting `transcriber` is {spec!r}, which is no transcriber.",
            then="Write vendor:model (such as openai:gpt-4o-transcribe), local, or command:LINE with {file} in it.",
        )
    vendor = model_catalog.rows[kind]
    client, pool = await model_catalog.client(vendor), await model_catalog.keyring.pool(vendor)
    if client is None or not pool:
        name = vendor.key_env[0] if vendor.key_env else "key_command"
        raise KeyMissing(f"There is no key for the transcriber {spec}.", then=f"Set {name}, or name another one.")
    return HttpListener(client, rest, pool[0], model_catalog.timeouts, 0 if vendor.local else -1)


def _by_kind(listens: Transcriber | None, describe: Describe | None) -> Describe:
    """Sound is listened to, everything else is looked at."""

    async def put(media: Media) -> str:
        if nature(media) is Nature.SOUND:
            return (await listens.listen(media)).text if listens else ""
        return await describe(media) if describe else ""

    return put
