"""A conversation that is driven in this process: a real store, a scripted model, tools of a test."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct

from angelia.context.request import ModelRequest
from angelia.core import entry as e
from angelia.core.content import Media, MediaKind, Text, ToolCall
from angelia.core.ids import CallId, ConversationId, new_conversation, wall_clock
from angelia.core.principal import OWNER
from angelia.core.profile import Ability, Profile
from angelia.engine.background import Background
from angelia.engine.broker import Broker, BrokerDeps
from angelia.engine.calls import submitted_job
from angelia.engine.caps import TurnCaps
from angelia.engine.driver import BoundModel, Driver, Settings
from angelia.engine.live import Live
from angelia.engine.log import Log
from angelia.engine.machine import Rest, Rules
from angelia.engine.speech import AnswerSpeaker
from angelia.engine.transcription import Transcriber, Wording
from angelia.models.port import Credential, Price
from angelia.policy.verdict import Allow, Effect, RunCommand, Verdict
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from angelia.testing.logs.playbook import Line, read
from angelia.testing.model.in_process import ScriptedProvider
from angelia.testing.model.steps import Step
from angelia.tools.port import Tool, ToolContext, ToolOutcome, Traits, Work
from angelia.tools.registry import Registry
from angelia.tools.submitted_jobs import SubmittedJob

F = TypeVar("F", bound=e.Fact)

ANN = e.Address("chat", "7")
"""Who speaks, and is told."""


class Words(Struct, frozen=True):
    """What the tools of these tests take."""

    text: str = ""


class Probe:
    """A tool that remembers what it was run with, and then does what a test wants."""

    description = "Notes something."
    arguments = Words

    def __init__(
        self,
        name: str = "note",
        act: Callable[[Words, ToolContext], Awaitable[ToolOutcome]] | None = None,
        **traits: bool,
    ) -> None:
        self.name, self._act, self.traits = name, act, Traits(**traits)
        self.ran: list[str] = []

    async def effects(self, arguments: Words, context: ToolContext) -> Sequence[Effect]:
        """It runs what it was told."""
        return [RunCommand(arguments.text, "/", "confined")]

    async def run(self, arguments: Words, context: ToolContext) -> ToolOutcome:
        """Remember, and act."""
        self.ran.append(arguments.text)
        return await self._act(arguments, context) if self._act else ToolOutcome((Text("Noted."),))


async def allow(effects: Sequence[Effect]) -> Verdict:
    """A policy that lets everything happen."""
    return Allow("a test")


async def _free(usage: e.Usage) -> Price:
    return Price(0)


async def _nowhere(media: Media) -> str:
    return f"inbox/{media.name}"


class World(Struct, frozen=True):
    """What surrounds the engine: tools, the policy, and what puts files into sandbox and words."""

    tools: tuple[Tool, ...] = ()
    judge: Callable[[Sequence[Effect]], Awaitable[Verdict]] = allow
    place: Callable[[Media], Awaitable[str]] | None = None
    transcriber: Transcriber | None = None
    speaker: AnswerSpeaker | None = None
    redact: Callable[[str], str] = str
    limits: TurnCaps = TurnCaps()


class Driven:
    """One conversation and one life of its driver."""

    def __init__(self, db: Database, conversation: ConversationId, provider: ScriptedProvider, world: World) -> None:
        self.provider, self.world, self.blobs = provider, world, BlobStore(db.home)
        self.db = db
        self.transcript = Transcript(db)
        self.log = Log(conversation, self.transcript, Live())
        self.background = Background(self.log, world.redact, lambda: "this life", lambda _: ())
        self.profile = Profile("scripted:m", "scripted", "m", "scripted", audio=Ability.NO)
        self._ahead = 0

    async def say(self, *parts: str | Media, sender: e.Address = ANN, answer: e.AnswerForm = e.AnswerForm.TEXT) -> None:
        """A person speaks."""
        words = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        await self.log.append(e.UserSaid(words, address=sender, reply_to="m1", answer=answer))

    async def given(self, *lines: Line) -> None:
        """What an earlier life left in the log; see `testing.logs.playbook`."""
        for line in lines:
            await self.log.append(*(line(self.log.entries) if callable(line) else (line,)))

    def stopped_elsewhere_before(self, kind: type[e.Fact]) -> None:
        """Another process writes a wish to stop right before such a fact is appended here."""
        append = self.transcript.append

        async def behind(conversation: ConversationId, facts: Sequence[e.AnyFact], **how: Any) -> list[e.Entry]:
            if any(isinstance(fact, kind) for fact in facts):
                await append(conversation, [e.CancelAsked(OWNER)])
            return await append(conversation, facts, **how)

        self.transcript.append = behind  # type: ignore[method-assign]  # what another process does beside it

    async def drive(self) -> Rest:
        """Until nothing is to be done before somebody speaks; a wait is over at once."""
        lease, entries, _ = await self.transcript.take_up(self.log.conversation, "a test", len(self.log.entries), 0)
        self.log.take(entries)
        driver = await self.driver()
        try:
            while (rest := await driver.drive(lease)).until:
                self._ahead += max(rest.until - self._clock(), 0)
        finally:
            await lease.release()
        return rest

    async def voice(self, name: str = "voice.ogg") -> Media:
        """A spoken message; its bytes are stored."""
        return Media(await self.blobs.put(name.encode(), mime="audio/ogg"), MediaKind.VOICE, name, seconds=4.0)

    def facts(self, kind: type[F]) -> list[F]:
        """The facts of this kind so far."""
        return [entry.fact for entry in self.log.entries if isinstance(entry.fact, kind)]

    @property
    def told(self) -> list[tuple[str, e.Address, str]]:
        """What goes out: why, to whom, and in which words."""
        return [
            (fact.origin, fact.address, "".join(part.text for part in fact.parts if isinstance(part, Text)))
            for fact in self.facts(e.DeliveryQueued)
        ]

    @property
    def results(self) -> list[tuple[str, str]]:
        """How each call ended, and what the model reads of it."""
        return [
            (fact.status.value, "".join(part.text for part in fact.parts if isinstance(part, Text)))
            for fact in self.facts(e.ToolFinished)
        ]

    def __repr__(self) -> str:
        return "\n" + read(self.log.entries)

    def _clock(self) -> int:
        return wall_clock() + self._ahead

    def broker(self) -> Broker:
        """What runs its calls."""
        world, place = self.world, self.world.place or _nowhere
        registry = Registry(world.tools)
        deps = BrokerDeps(registry, world.judge, self._calling, world.redact, self.background, place, lambda _: ())
        return Broker(self.log, deps)

    async def driver(self) -> Driver:
        """A life of the driver."""
        world, registry = self.world, Registry(self.world.tools)
        stored = await self.blobs.put(b"prompt, tools and profile")
        setup = e.SetupChanged("scripted:m", stored, stored, stored)
        key = (Credential("key", "secret"),)
        bound = BoundModel(self.profile, self.provider.session(), "Be kind.", registry.specs(), setup, key, _free)
        rules = Rules(
            world.limits,
            traits={tool.name: tool.traits for tool in world.tools},
            can_place=world.place is not None,
            can_speak=world.speaker is not None,
        )
        wording = Wording(transcriber=world.transcriber, speaker=world.speaker)
        return Driver(self.log, [bound], self.broker(), Settings(rules), self._clock, wording)

    def _calling(self, call: ToolCall, answer: str) -> ToolContext:
        async def later(work: Work, outcome: ToolOutcome) -> None:
            await self.background.ended(call.id, work, outcome, ANN)

        async def submit(job: SubmittedJob) -> None:
            await self.log.append(e.JobSubmitted(call.id, job.to, job.job))

        none = cast("Any", None)
        return ToolContext(
            call=call.id,
            sandbox=none,
            blobs=none,
            entries=self.log.entries,
            address=ANN,
            progress=none,
            fetch=none,
            to_media=none,
            take=none,
            most_sent=0,
            later=later,
            schedules=none,
            submit=submit,
            answer=answer,
            submitted=submitted_job(self.log.entries, call.id),
        )


QUIET = World()
"""No tools, no files, nothing that listens."""


@asynccontextmanager
async def driven(
    folder: Path, script: Sequence[Step | Callable[[ModelRequest], Step]], world: World = QUIET
) -> AsyncIterator[Driven]:
    """A conversation that was just opened; `script` is what the model does when it is asked."""
    db, name = Database.open(folder / "home"), new_conversation()
    try:
        one = Driven(db, name, ScriptedProvider(script), world)
        await one.log.append(e.ConversationOpened("chat", "/"))
        yield one
    finally:
        db.close()


def only_call(one: Driven) -> CallId:
    """The id of the one call that the model made."""
    (call,) = [part.id for fact in one.facts(e.ModelSaid) for part in fact.parts if isinstance(part, ToolCall)]
    return call
