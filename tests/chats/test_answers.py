"""What is said in a chat is answered there, once."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import Kind
from angelia.channels.incoming import OfferedFile
from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.principal import OWNER, Principal
from angelia.engine.live import Committed
from angelia.testing.channels.recording_channel import WITHOUT_EDIT, ChannelTrouble, FarEnd
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.chats.town import BEN, STRANGER, town

pytestmark = pytest.mark.anyio


async def test_a_message_is_answered_in_its_chat_once(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([say("**Hello** Ann.")]) as server, town(tmp_path, server, far) as life:
        await life.says("Good morning")
        assert await life.answered(1) == ["**Hello** Ann."]
        await life.settled()
        settled = [fact for fact in await life.facts() if isinstance(fact, e.DeliverySettled)]
        assert [(one.status, one.platform_id) for one in settled] == [(e.DeliveryStatus.SENT, "1")]
        assert "Good morning" in server.requests[0].heard.last_words


async def test_nobody_writes_to_a_chat_once_the_gateway_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = FarEnd()
    async with ModelServer([say("Hello.")]) as server, town(tmp_path, server, far) as life:
        await life.says("Good morning")
        await life.answered(1)
        (opened,), dispatcher, close = (
            life.gateway.chat_sessions._open.values(),
            life.gateway.dispatcher,
            life.gateway.dispatcher.close,
        )

        async def closed() -> None:
            await close()
            opened.session.live.emit(Committed(()))  # as a turn does that goes on in that instant

        monkeypatch.setattr(dispatcher, "close", closed)
    assert not dispatcher._writers, "a turn has called for a writer that nobody ends"


async def test_a_repeat_of_the_network_is_absorbed(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([say("Once.")]) as server, town(tmp_path, server, far) as life:
        await life.says("Do it", key="m-1")
        await life.says("Do it", key="m-1")
        assert await life.answered(1) == ["Once."]
        assert len(server.requests) == 1


async def test_a_photo_reaches_the_model_and_a_file_comes_back(tmp_path: Path) -> None:
    far, photo = FarEnd(), one_colour("red")
    script = [call("shell", {"command": "printf report > r.txt"}), call("send_file", {"path": "r.txt"}), say("There.")]
    async with ModelServer(script) as server, town(tmp_path, server, far) as life:
        await life.offers(photo, OfferedFile(Kind.PHOTO, "f1", "red.png"), "Which colour?")
        await far.when(lambda far: "There." in far.texts("7"))
        await life.settled()
        heard = next(fact for fact in await life.facts() if isinstance(fact, e.UserSaid))
        assert [part.blob.size for part in heard.parts if isinstance(part, Media)] == [len(photo)]
        assert [(one.name, one.file) for one in far.in_chat("7") if one.file is not None] == [("r.txt", b"report")]
        assert far.texts("7").count("There.") == 1


async def test_a_stranger_is_told_a_code_and_nothing_else_happens(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer([]) as server, town(tmp_path, server, far) as life:
        await life.offers(b"secret", OfferedFile(Kind.DOCUMENT, "f1", "x.txt"), "hello", sender=STRANGER, chat="99")
        await life.says("hello?", sender=STRANGER, chat="99")
        assert len(far.in_chat("99")) == 1
        assert far.fetched == []
        code = far.texts("99")[0].partition("Your code is ")[2][:8]
        paired = await life.app.admission.pairings.approve(code.lower(), by=OWNER)
        assert paired.principal.id == "99"
        assert await life.app.doors.of_door(OWNER, "chat") == []
        assert server.requests == []


async def test_two_chats_have_two_conversations_and_two_folders(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer(lambda request: say(f"You said {request.heard.last_words}.")) as server:  # noqa: SIM117
        async with town(tmp_path, server, far) as life:
            await life.says("one", chat="7")
            await life.says("two", chat="8", sender=BEN)
            assert await life.answered(1, "7") == ["You said one."]
            assert await life.answered(1, "8") == ["You said two."]
            owners = {one.owner for one in await life.app.transcript.conversations(OWNER, 5)}
            assert owners == {OWNER, Principal("chat", "2")}


async def test_a_repeat_that_the_network_does_not_take_leaves_the_first_in_doubt(tmp_path: Path) -> None:
    troubles = iter([ChannelTrouble.LOST_AFTER])
    far = FarEnd(lambda method: next(troubles, ChannelTrouble.NONE) if method == "send" else ChannelTrouble.NONE)
    words = "An answer that fills its message, but for the mark of a repeat. Nothing is left over for that one."
    table = replace(WITHOUT_EDIT, text_limit=len(words))
    async with ModelServer([say(words)]) as server, town(tmp_path, server, far, capabilities=table) as life:
        await life.says("Go")
        await far.when(lambda far: any("Nobody knows whether" in text for text in far.texts("7")))
        await life.settled()
        assert far.texts("7")[0] == words
        settled = [fact.status for fact in await life.facts() if isinstance(fact, e.DeliverySettled)]
        assert settled == [e.DeliveryStatus.UNKNOWN, e.DeliveryStatus.SENT]
