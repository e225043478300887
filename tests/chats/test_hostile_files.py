"""A file in a chat takes nobody's time or memory, and a picture that goes out does not tell where it was taken."""

from pathlib import Path

import pytest

from angelia.channels.capabilities import Kind
from angelia.channels.incoming import OfferedFile
from angelia.core.content import Media
from angelia.core.entry import UserSaid
from angelia.store.media.jobs import MediaLimits, MediaType
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.chats.town import BEN, town
from tests.store.bombs import flat_png
from tests.store.drawn import picture
from tests.store.test_picture_metadata import SECRETS, jpeg, seen

pytestmark = pytest.mark.anyio


async def test_neither_the_model_nor_the_chat_learns_where_a_photo_was_taken(tmp_path: Path) -> None:
    far, photo = FarEnd(), jpeg(6)
    script = [
        call("send_file", {"path": "inbox/home.jpg"}),
        call("send_file", {"path": "inbox/home.jpg", "as_": "document"}),
        say("There."),
    ]
    async with ModelServer(script) as server, town(tmp_path, server, far) as life:
        await life.offers(photo, OfferedFile(Kind.PHOTO, "f1", "home.jpg"), "Send it back, and as a file")
        await far.when(lambda far: "There." in far.texts("7"))
        await life.settled()
        as_photo, as_file = (one for one in far.in_chat("7") if one.file is not None)
        assert not [secret for secret in SECRETS if secret in (as_photo.file or b"")]
        assert seen(as_photo.file or b"") == seen(photo)
        assert as_file.file == photo, "what is asked for as a file goes as it is"
        heard = [medium.data for request in server.requests for medium in request.heard.media]
        assert heard
        assert not [secret for secret in SECRETS for data in heard if secret in data]
        said = next(fact for fact in await life.facts() if isinstance(fact, UserSaid))
        kept = next(part for part in said.parts if isinstance(part, Media))
        assert await life.app.blobs.get(kept.blob.sha256) == photo, "what is stored stays as it came"


async def test_a_file_that_takes_too_much_is_told_and_another_persons_photo_is_seen(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer(lambda request: say("I see.")) as server, town(tmp_path, server, far) as life:
        life.app.media.limits = dict.fromkeys(MediaType, MediaLimits(20, 250_000_000, 2))
        await life.offers(flat_png(9_000, 9_000), OfferedFile(Kind.PHOTO, "f1", "big.png"), "What is this?")
        await life.offers(
            picture((30, 20)), OfferedFile(Kind.PHOTO, "f2", "small.png"), "And this?", chat="8", sender=BEN
        )
        await far.when(lambda far: "I see." in far.texts("7") and "I see." in far.texts("8"))
        await life.settled()
        told = [text for text in far.texts("7") if "could not open it" in text]
        assert len(told) == 1
        assert 'The picture "big.png" took more than 250.0 MB of memory to open' in told[0]
        assert any("250.0 MB" in request.heard.last_words for request in server.requests), "the model knows too"
