"""What drives a conversation in which another agent works: that agent in the model's place, with tools of its own."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.errors import ConfigError
from angelia.core.ids import Clock
from angelia.core.principal import ANGELIA
from angelia.core.profile import Profile
from angelia.engine.broker import Broker, BrokerDeps
from angelia.engine.compaction import ContextBudget
from angelia.engine.driver import BoundModel, Driver, Settings
from angelia.engine.transcription import Wording
from angelia.models.port import Credential
from angelia.sandboxes.port import Reach, Sandbox
from angelia.service.conversation.session import Session
from angelia.service.delegation.settings import ChildPreset
from angelia.service.delegation.workers import NamedWorker, worker_of
from angelia.service.models.catalog import setup_of
from angelia.service.settings.config import Caps, Config
from angelia.service.settings.rules import rules_for
from angelia.service.settings.secret_refs import SecretRefs
from angelia.store.media.blobs import BlobStore
from angelia.tools.worker.terminal import WorkerTerminals
from angelia.tools.worker.toolset import WorkerTools
from angelia.workers.port import WorkerContext, WorkerProgram
from angelia.workers.registry import open_worker

_ITS_OWN = 1_000_000_000
"""Tokens: a worker keeps what it has read itself, and nothing is folded for it."""


class EmployedWorker:
    """One other agent, for one conversation; nothing is started before a call of its says so."""

    def __init__(self, session: Session, config: Config, secrets: SecretRefs, sandbox: Callable[[], Sandbox]) -> None:
        """Raises ConfigError: its helper is not set up any more, or not so that it can be started."""
        assert session.terms is not None
        name = session.terms.worker
        preset = config.helpers.get(name)
        if preset is None:
            raise ConfigError(f"No helper {name!r} is set up any more.", then=f"Set [helpers.{name}] up again.")
        named = worker_of(name, preset)
        vendor, _, model = named.name.partition(":")
        self.profile = Profile(named.name, vendor, model, named.protocol, window=_ITS_OWN)
        self._session, self._config = session, config
        terminals, program = WorkerTerminals(), program_of(name, named, preset, secrets)

        async def workspace() -> str:
            return (await sandbox().describe()).workspace

        self.worker = open_worker(
            named.protocol, WorkerContext(program, lambda: session.log.entries, workspace, terminals.get)
        )
        self.tools = WorkerTools(program, self.worker, terminals)
        self._withdrawing: asyncio.Task[None] | None = None

    async def driver(self, deps: BrokerDeps, limits: Caps, blobs: BlobStore, clock: Clock) -> tuple[BoundModel, Driver]:
        """A driver that has read the log; `deps` holds the tools."""
        bound = BoundModel(
            profile=self.profile,
            session=self.worker,
            system="",
            tools=(),
            setup=await setup_of(blobs, self.profile, "", ()),
            credentials=(Credential("", ""),),
            cost=self.worker.price,
        )
        capped = replace(self._config, limits=limits)
        rules = rules_for(capped, deps.registry, [bound], Wording())
        settings = (
            Settings(  # what it repeats, it repeats by its own lights, and nothing could be said to it about that
                rules=replace(rules, limits=replace(rules.limits, stale_calls=0)), space=ContextBudget(0.8, 0, None, 0)
            )
        )
        driver = Driver(self._session.log, [bound], Broker(self._session.log, deps), settings, clock)
        await driver.catch_up()
        self._withdrawing = self._withdrawing or asyncio.create_task(self._withdraw())
        return bound, driver

    async def _withdraw(self) -> None:
        """Nobody is to answer what it does not wait for any more."""
        session = self._session
        await self.worker.gone()
        while True:
            end_if_cancelled()
            for asked in session.questions():
                why = f"{self.profile.name} does not wait for it any more"
                await session.log.append(e.ApprovalRefused(asked.call, ANGELIA, why))
            await session.wait(lambda: bool(session.questions()))

    async def close(self) -> None:
        """The conversation is left; its tools have ended the program."""
        await cancel_and_wait(self._withdrawing)


def program_of(name: str, named: NamedWorker, preset: ChildPreset, secrets: SecretRefs) -> WorkerProgram:
    """What is started for a helper; no secret is read yet."""
    env = secrets.late(f"helpers.{name}", preset.env)
    return WorkerProgram(named.name, named.argv, env, Reach(preset.reach), preset.hosts)
