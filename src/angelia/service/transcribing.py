"""What listens to recordings that a model cannot hear.

No door has to do anything about it. A door stores a recording as `Media` in the person's message, like any other
file, and acknowledges it; before the next request the engine asks what is configured here (`engine.hearing`), and
what it says becomes a fact of the log beside the recording. Where it fails, the sender is told in the same turn.
"""

from importlib.util import find_spec

from angelia.context.forms import Nature, nature
from angelia.core.content import Media
from angelia.core.errors import ConfigError, KeyMissing, MissingPart, NotFound
from angelia.engine.hearing import Describe, Heard, Transcriber, Wording
from angelia.models.speech import COMMAND, LOCAL, Listener
from angelia.models.speech_command import configured, whisper
from angelia.models.speech_http import HttpListener
from angelia.service.describing import describer
from angelia.service.seating import Seating
from angelia.store.blobs import BlobStore

USUAL = "base"
"""The Whisper that `local` means: 74 million weights, 140 MB, many languages (openai/whisper, README)."""


async def wording(transcriber: str, describing: str, seating: Seating, blobs: BlobStore) -> Wording:
    """What puts media into words, from the settings `transcriber` and `describer`; empty for none.

    Raises:
        ConfigError, KeyMissing: a model cannot be used as configured.
        MissingPart: Whisper is not installed.
    """
    listens = await listening(transcriber, seating, blobs) if transcriber else None
    describe = await describer(describing, seating) if describing else None
    return Wording(_by_kind(listens, describe) if listens or describe else None, listens)


async def listening(spec: str, seating: Seating, blobs: BlobStore) -> Transcriber:
    """The transcriber that `spec` names: `vendor:model`, `local[:MODEL]`, or `command:LINE` with `{file}` in it.

    Raises:
        ConfigError, KeyMissing, MissingPart: it cannot be used; says what to do.
    """
    listener = await _listener(spec, seating)

    async def listen(media: Media) -> Heard:
        path = blobs.path(media.blob.sha256)
        if not path.is_file():
            raise NotFound("its bytes are no longer kept")
        words = await listener.listen(path, media.blob.mime)
        return Heard(words.text, words.cost)

    return Transcriber("a program of yours" if spec.startswith(f"{COMMAND}:") else spec, listen)


async def _listener(spec: str, seating: Seating) -> Listener:
    kind, _, rest = spec.partition(":")
    if kind == LOCAL:
        if find_spec("faster_whisper") is None:
            raise MissingPart("Writing down recordings on this machine", "voice")
        return whisper(rest or USUAL)
    if kind == COMMAND:
        return configured(rest)
    if kind not in seating.rows or not rest:
        raise ConfigError(
            f"The setting `transcriber` is {spec!r}, which is no transcriber.",
            then="Write vendor:model (such as openai:gpt-4o-transcribe), local, or command:LINE with {file} in it.",
        )
    vendor = seating.rows[kind]
    client, pool = await seating.client(vendor), await seating.keyring.pool(vendor)
    if client is None or not pool:
        name = vendor.key_env[0] if vendor.key_env else "key_command"
        raise KeyMissing(f"There is no key for the transcriber {spec}.", then=f"Set {name}, or name another one.")
    return HttpListener(client, rest, pool[0], seating.timeouts, 0 if vendor.local else -1)


def _by_kind(listens: Transcriber | None, describe: Describe | None) -> Describe:
    """Sound is listened to, everything else is looked at."""

    async def put(media: Media) -> str:
        if nature(media) is Nature.SOUND:
            return (await listens.listen(media)).text if listens else ""
        return await describe(media) if describe else ""

    return put
