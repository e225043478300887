"""Machines with homes of their own over one log and one folder of files, each a gateway of several Telegram bots."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.core import entry as e
from angelia.service.chats.messages import AGAIN
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.tables.machines import ClusterState, Machines, door_of
from angelia.testing.channels.network import Thing
from angelia.testing.crash import ANGELIA
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Hang, Step, say, slowly
from angelia.testing.networks.telegram_server import TOKEN, TOKEN_VARIABLE, TelegramServer
from angelia.testing.networks.telegram_world import ANN, HERE
from tests.chats.gateway_lives import PATIENCE_S, seen
from tests.nursery import LivingChild, Nursery
from tests.promise.lives import environment
from tests.store.machine_network import LIVE, Machine
from tests.store.postgres_server import PostgresServer

LIMITS = "[limits]\nmax_crashes = 0\n"
"""Machines are killed here again and again, and it is never a request that ends them: each is to be answered."""
SLOW_S = 3.0
"""How long an answer takes that was asked for slowly."""


def heard(request: ReceivedRequest) -> Step:
    """Says back what was said last; slowly, or never, if that is wanted."""
    word = request.heard.last_words.split()[-1]
    if "never" in request.heard.last_words:
        return Hang()
    return slowly(say(f"heard {word}"), first=SLOW_S) if "slowly" in request.heard.last_words else say(f"heard {word}")


class Cluster:
    """`networks` are the bots by the names of their channels; a gateway serves each if nothing else is said. `apart`
    are the machines on which its lives are lived, one after the other; without any it is this one.
    """

    def __init__(
        self, folder: Path, postgres: PostgresServer, model: ModelServer, networks: dict[str, TelegramServer]
    ) -> None:
        self.folder, self.model, self.networks = folder, model, networks
        self.log = postgres.fresh()
        self.lives: list[LivingChild] = []
        self.more: dict[str, str] = {}
        self.apart: tuple[Machine, ...] = ()
        self._read: Counter[str] = Counter()
        self._answered_words: dict[str, set[str]] = {door: set() for door in networks}
        (folder / "bucket").mkdir()
        self.said: dict[str, list[str]] = {door: [] for door in networks}
        self._watcher = PostgresDatabase.open(self.log, folder / "watcher")
        self.machines = Machines(self._watcher)

    @property
    def store(self) -> PostgresDatabase:
        """The log, as somebody looks into it who is none of the machines."""
        return self._watcher

    def close(self) -> None:
        """Look no more."""
        self._watcher.close()

    def environ(self, number: int) -> dict[str, str]:
        """Of a machine's processes; its home is made."""
        home = self.folder / f"machine-{number}"
        if not home.exists():
            (home / "home").mkdir(parents=True)
            (home / "person").mkdir()
            sections = "".join(
                f'[channels.{door}]\nkind = "telegram"\napi = "{network.url}"\nowners = ["{ANN["id"]}"]\n'
                f'stale_minutes = 0\ngroups = "all"\ntoken = {{ env = "{TOKEN_VARIABLE}" }}\n'
                for door, network in self.networks.items()
            )
            (home / "home" / "config.toml").write_text(
                f'model = "openai-chat:m"\n[sandbox]\nconfine = "off"\n{LIMITS}{sections}'
            )
        return {
            **environment(home, self.model),
            TOKEN_VARIABLE: TOKEN,
            "ANGELIA_STORE": self.log,
            "ANGELIA_BLOBS": str(self.folder / "bucket"),
            **self.more,
        }

    async def add(self, nursery: Nursery, at: str = "", number: int = 0) -> LivingChild:
        """One machine more, or the one of this number once more. It is killed at a crash point, if one is named."""
        number = number or len(self.lives) + 1
        place = self.folder / f"life-{len(self.lives) + 1}"
        place.mkdir()
        env, entry = self.environ(number), ANGELIA
        if self.apart:
            env, entry = {**env, **self.apart[number - 1].env}, LIVE
        child = await nursery.bear(["gateway"], env, place, at=at, entry=entry)
        self.lives.append(child)
        return child

    async def until(self, holds: Callable[[ClusterState], bool]) -> ClusterState:
        """The state of the machines, once something is true of it."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds(state := await self.machines.state()):  # noqa: ASYNC110 - processes tell
                await asyncio.sleep(0.02)
        return state

    async def say(self, door: str, words: str, where: e.Address = HERE) -> None:
        """Ann writes to one of the bots."""
        self.said[door].append(words.split()[-1])
        await self.networks[door].bring(Thing(IncomingKind.TEXT, where, words))

    def answers(self, door: str) -> Counter[str]:
        """What is there of answers in all chats of a bot, each with how often; those that are marked as sent again are
        left out where the first is there.
        """
        texts = [text for text in self.texts(door) if "heard " in text]
        whole = Counter(text.split("heard ")[-1].split()[0] for text in texts if AGAIN not in text)
        again = Counter(text.split("heard ")[-1].split()[0] for text in texts if AGAIN in text)
        return whole + Counter({word: 1 for word in again if word not in whole})

    def was_answered(self, door: str, word: str) -> bool:
        """Whether an answer to a word has come, and not only its draft; what came is read once, since many ask."""
        arrived, known = self.networks[door].arrived, self._answered_words[door]
        for one in arrived[self._read[door] :]:
            if one.kind is not Kind.DRAFT:
                known.update(one.text.split("heard ")[-1].split()[:1])
        self._read[door] = len(arrived)
        return word in known

    def texts(self, door: str) -> tuple[str, ...]:
        """What stands in the chats of a bot."""
        return seen(self.networks[door].arrived).texts

    async def all_answered(self, *doors: str) -> None:
        """Return once everything that was said to these bots has its answer."""
        async with asyncio.timeout(PATIENCE_S):
            for door in doors or tuple(self.networks):
                await self.networks[door].when(partial(self._answered, door))

    def _answered(self, door: str) -> bool:
        return set(self.said[door]) <= set(self.answers(door))

    def doubled(self) -> list[str]:
        """What is there twice, and is not marked."""
        return [f"{door}: {word}" for door in self.networks for word, n in self.answers(door).items() if n > 1]


def holders(state: ClusterState) -> dict[str, str]:
    """Who has each channel and the clock, as far as somebody has."""
    return {door_of(part.name) or part.name: part.machine for part in state.parts if part.held}
