"""What listens to recordings that a model cannot hear.

No door has to do anything about it. A door stores a recording as `Media` in the person's message, like any other
file, and acknowledges it; before the next request the engine asks what is configured here (`engine.transcription`), and
what it says becomes a fact of the log beside the recording. Where it fails, the sender is told in the same turn.
"""

from importlib.util import find_spec

from angelia.context.media_forms import Nature, nature
from angelia.core.content import Media
from angelia.core.errors import ConfigError, KeyMissing, MissingPart, NotFound
from angelia.engine.transcription import Describe, Transcriber, Transcription, Wording
from angelia.models.speech.command import configured, whisper
from angelia.models.speech.http import HttpListener
from angelia.models.speech.port import COMMAND, LOCAL, Listener
from angelia.service.models.catalog import ModelCatalog
from angelia.service.models.descriptions import describer
from angelia.store.media.blobs import BlobStore

USUAL = "base"
"""The Whisper that `local` means: 74 million weights, 140 MB, many languages (openai/whisper, README)."""


async def wording(transcriber: str, describing: str, model_catalog: ModelCatalog, blobs: BlobStore) -> Wording:
    """What puts media into words, from the settings `transcriber` and `describer`; empty for none.

    Raises:
        ConfigError, KeyMissing: a model cannot be used as configured.
        MissingPart: Whisper is not installed.
    """
    listens = await listening(transcriber, model_catalog, blobs) if transcriber else None
    describe = await describer(describing, model_catalog) if describing else None
    return Wording(_by_kind(listens, describe) if listens or describe else None, listens)


async def listening(spec: str, model_catalog: ModelCatalog, blobs: BlobStore) -> Transcriber:
    """The transcriber that `spec` names: `vendor:model`, `local[:MODEL]`, or `command:LINE` with `{file}` in it.

    Raises:
        ConfigError, KeyMissing, MissingPart: it cannot be used; says what to do.
    """
    listener = await _listener(spec, model_catalog)

    async def listen(media: Media) -> Transcription:
        path = blobs.path(media.blob.sha256)
        if not path.is_file():
            raise NotFound("its bytes are no longer kept")
        words = await listener.listen(path, media.blob.mime)
        return Transcription(words.text, words.cost)

    return Transcriber("a program of yours" if spec.startswith(f"{COMMAND}:") else spec, listen)


async def _listener(spec: str, model_catalog: ModelCatalog) -> Listener:
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
