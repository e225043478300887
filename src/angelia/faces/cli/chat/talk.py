"""Talking instead of typing: what is said is recorded and sent, and the answer is spoken while it is written.

listening ── Enter ──> answering ── the last sentence was heard ──> listening
│                      │
Esc                    Esc: silent, the turn is stopped, and listening again
└──> over
"""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import MediaKind
from angelia.core.crash import crash_point
from angelia.core.days import day_of
from angelia.core.errors import AngeliaError, ConfigError, PerhapsPaid
from angelia.core.principal import OWNER
from angelia.core.profile import Ability, Profile
from angelia.engine.live import Committed, LiveEvent, Writing
from angelia.faces.cli.sound import SoundRecording, demand_sound, play
from angelia.faces.words.spoken_sentences import SpokenSentences
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.models.speech import HOW

if TYPE_CHECKING:
    from angelia.faces.cli.chat.screen import Screen
    from angelia.models.speakers.port import SpokenSound
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

_AHEAD = 2
"""Sentences that are made into sound before they are heard."""


class TalkDeps(Struct, frozen=True):
    """What talking needs: the conversation, its model, and where a person is told. `changed` says that the state has
    changed, `over` that it is talked no more.
    """

    app: "App"
    session: "Session"
    profile: Profile
    screen: "Screen"
    changed: Callable[[], None]
    over: Callable[[], None]


class Talk:
    """One conversation that is talked in."""

    def __init__(self, deps: TalkDeps) -> None:
        self._deps = deps
        self._speech = deps.app.speech
        self._recording: SoundRecording | None = None
        self._sentences = SpokenSentences(self._speech.language)
        self._to_speak: asyncio.Queue[str] = asyncio.Queue()
        self._to_hear: asyncio.Queue[bytes] = asyncio.Queue(_AHEAD)
        self._tasks: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None
        self._forgetting: asyncio.Task[None] | None = None
        self._left, self._failed = 0, False
        self._forget: Callable[[], None] | None = None

    @property
    def state(self) -> str:
        """What a person sees of it."""
        if self._recording:
            return "listening"
        return "speaking" if self._left else ""

    async def begin(self) -> None:
        """Listen.

        Raises:
            ConfigError, NoSound: something is missing that records, hears, speaks or plays.
        """
        self._demand_parts()
        demand_sound()
        self._forget = self._deps.session.live.watch(self._see)
        await self._listen()

    async def send(self) -> None:
        """What was said until now is a message. While an answer is spoken, it is silent from here on.

        Raises:
            NoSound: nothing was recorded; talking is over.
        """
        recording = self._recording
        if recording is None:
            await self._hush()
            await self._listen_if_done()
            return
        self._recording = None
        try:
            media = await self._deps.app.intake.stream_to_media(await recording.end(), "voice.wav")
        except AngeliaError:
            await self.end()
            raise
        finally:
            await recording.forget()
        await self._deps.session.say([replace(media, media=MediaKind.VOICE)], address=TERMINAL)

    async def stop(self) -> None:
        """Esc: talking is over while it listens; else the answer is silent and its turn stopped."""
        if self._recording:
            await self.end()
            self._deps.screen.note("no longer listening")
            return
        await self._hush()
        if not await self._deps.session.stop(OWNER):
            await self._listen_if_done()

    async def end(self) -> None:
        """Neither listen nor speak any more. Idempotent."""
        if self._forget:
            self._forget()
            self._forget = None
        if self._listening and self._listening is not asyncio.current_task():
            self._listening.cancel()
        await self._hush()
        recording, self._recording = self._recording, None
        if recording:
            await recording.forget()
        self._deps.over()

    def _demand_parts(self) -> None:
        config, profile = self._deps.app.loaded.config, self._deps.profile
        if not config.speaker:
            raise ConfigError("Nothing is set that speaks.", then=HOW)
        if not config.transcriber and profile.audio is not Ability.YES:
            raise ConfigError(
                f"{profile.name} hears nothing, and nothing is set that writes down what you say.",
                then='Set transcriber = "local" (Whisper on this machine), vendor:model, or command:LINE.',
            )

    # -- listening ----------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        recording = SoundRecording()
        try:
            await recording.begin()
        except BaseException:
            await recording.forget()
            raise
        self._recording = recording
        self._deps.screen.note("listening: Enter sends what you say, Esc leaves")
        self._deps.changed()

    async def _listen_if_done(self) -> None:
        """Listen again when the answer was heard and no turn runs."""
        if self._left or self._recording or self._deps.session.turn.opened or self._forget is None:
            return
        await self._hush()
        self._failed = False
        await self._listen()

    def _done(self) -> None:
        async def listen() -> None:
            try:
                await self._listen_if_done()
            except AngeliaError as error:
                self._deps.screen.warn(str(error))
                await self.end()

        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(listen())

    # -- speaking -----------------------------------------------------------------------------------------------

    def _see(self, event: LiveEvent) -> None:
        match event:
            case Writing(text=text):
                self._say(self._sentences.write(text))
            case Committed(entries=entries):
                for entry in entries:
                    self._take(entry.fact)
            case _:
                pass

    def _take(self, fact: e.AnyFact) -> None:
        match fact:
            case e.UserSaid() if self._recording:  # typed; its answer is not to be recorded
                recording, self._recording = self._recording, None
                self._forgetting = asyncio.create_task(recording.forget())
            case e.Transcribed(spoken=spoken):
                self._sentences.hear(" ".join(one.text for one in spoken))
            case e.ModelSaid():
                self._say(self._sentences.end())
            case e.ModelFailed():
                self._sentences.drop()
            case e.TurnClosed():
                self._done()
            case _:
                pass

    def _say(self, sentences: tuple[str, ...]) -> None:
        if self._failed:
            return
        for sentence in sentences:
            self._left += 1
            self._to_speak.put_nowait(sentence)
        if sentences and not self._tasks:
            self._tasks = [asyncio.create_task(job) for job in (self._speak(), self._play())]

    async def _speak(self) -> None:
        """Make sentences into sound, the next ones while one is heard; where that fails the answer can be read."""
        try:
            await self._demand_money()
            while True:
                end_if_cancelled()
                sentence = await self._to_speak.get()
                sound = await self._spoken(sentence)
                await self._to_hear.put(sound.data)
        except AngeliaError as error:
            self._fail(error)

    async def _spoken(self, sentence: str) -> "SpokenSound":
        """A sentence as sound. That it may cost is in the log before it is asked for, what it cost before it is heard.

        Raises:
            AngeliaError: it could not be.
        """
        language = self._sentences.language
        if self._speech.free:
            return await self._speech.aloud(sentence, language=language)
        session, name, owed = self._deps.session, self._speech.name, self._speech.may_cost
        await session.record(e.SpeechAsked((), name, owed, session.life()))
        made = e.SpeechMade((), why="it was stopped.", paid=e.Payment(name, owed))
        crash_point("sentence.asked")
        try:
            sound = await self._speech.aloud(sentence, language=language)
            made = e.SpeechMade((), paid=e.Payment(name, sound.cost) if sound.cost else e.NO_PAYMENT)
        except PerhapsPaid as error:
            made = replace(made, why=str(error))
            raise
        except AngeliaError as error:
            made = e.SpeechMade((), why=str(error))
            raise
        finally:
            await asyncio.shield(session.record(made))
        return sound

    async def _play(self) -> None:
        try:
            while True:
                end_if_cancelled()
                await play(await self._to_hear.get())
                self._left -= 1
                if not self._left:
                    self._done()
        except AngeliaError as error:
            self._fail(error)

    def _fail(self, error: AngeliaError) -> None:
        """The rest of the answer is only written."""
        self._failed = True
        self._deps.screen.warn(f"Not spoken: {error}")
        self._silence()
        self._done()

    async def _hush(self) -> None:
        """Be silent at once."""
        tasks = self._silence()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _silence(self) -> list[asyncio.Task[None]]:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._to_speak, self._to_hear = asyncio.Queue(), asyncio.Queue(_AHEAD)
        self._left = 0
        self._sentences.drop()
        return [task for task in tasks if task is not asyncio.current_task()]

    async def _demand_money(self) -> None:
        """Raises AngeliaError once the day's cap on money is reached; what is free is always spoken."""
        cap = self._deps.app.loaded.config.limits.day_cost
        if not cap or self._speech.free:
            return
        today = day_of(time.time_ns() // 1_000_000)
        if (await self._deps.app.transcript.spent(OWNER, today)).cost >= cap * 1e6:
            raise AngeliaError(f"what may be spent in a day (${cap:g}) is spent.")
