"""Rows about the past: questions of many kinds, asked by rank over many messages of several people."""

import asyncio
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

from angelia.core import codec
from angelia.core.content import CallStatus, Text
from angelia.core.entry import AnyFact, ConversationOpened, ModelSaid, StopReason, ToolFinished, UserSaid
from angelia.core.ids import CallId, new_conversation
from angelia.core.principal import OWNER, Principal
from angelia.store.log import word_index
from angelia.store.log.chain import Unsigned
from angelia.store.log.ranked_search import Within, ranked_search
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import FILE, Database
from bench.rows import Row, row
from bench.runs import Benchmark
from bench.store import MILLION, insert, percentile

SEED = 20_261_123
FEW = 50_000
"""Messages, unless `--full` asks for a million."""
TALK = 250
"""Messages of one conversation."""
VOCABULARY = 60_000
ASKED = 25
"""Questions of each kind."""
GUEST, RARE_GUEST = Principal("telegram", "1"), Principal("telegram", "2")
FOLDERS = ("/home/me/garden", "/home/me/house", "/work")
P95_S, EXACT_P95_S = 0.150, 0.050

_BEGINNINGS = "b c d f g h k l m n p r s t v w br ch cl dr fl gr pl pr sh sl st str th tr".split()  # noqa: SIM905
_MIDDLES = "a e i o u ai ea ou oo".split()  # noqa: SIM905
_SYLLABLES = [begin + middle for begin in _BEGINNINGS for middle in _MIDDLES]
_ENDINGS = ("", "", "s", "ed", "ing", "er")


def word(rank: int) -> str:
    """The word of that rank: frequent ones are short, and words share their beginnings as those of a language do."""
    mixed, text = rank * 7919 % (len(_SYLLABLES) ** 3), ""
    for _ in range(1 if rank < 60 else 2 if rank < 8_000 else 3):
        mixed, at = divmod(mixed, len(_SYLLABLES))
        text += _SYLLABLES[at]
    return text + "n"


WORDS = [word(rank) for rank in range(VOCABULARY)]
_WEIGHTS = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))


def message(chance: random.Random) -> str:
    """Twenty words, as unequally frequent as words are; every twentieth message is Chinese."""
    if chance.random() < 0.05:
        return _chinese(chance, 25)
    words = chance.choices(WORDS, cum_weights=_WEIGHTS, k=20)
    return " ".join(one + chance.choice(_ENDINGS) for one in words)


def _chinese(chance: random.Random, length: int) -> str:
    return "".join(chr(0x4E00 + min(int(chance.paretovariate(0.6)), 5000)) for _ in range(length))


def _of(chance: random.Random, least: int, most: int, count: int) -> str:
    return " ".join(WORDS[chance.randrange(least, most)] for _ in range(count))


Ask = Callable[[random.Random], str]
QUESTIONS: dict[str, Ask] = {
    "a sentence": lambda chance: f"{_of(chance, 0, 60, 5)} {_of(chance, 100, 3000, 2)} {_of(chance, 5000, 50_000, 1)}",
    "common words alone": lambda chance: _of(chance, 0, 60, 4),
    "the commonest word": lambda chance: WORDS[chance.randrange(3)],
    "two rare words": lambda chance: _of(chance, 20_000, VOCABULARY, 2),
    "a letter": lambda chance: chance.choice("bcdfghklmnprstvw"),
    "two letters": lambda chance: chance.choice("bcdfghklmnprstvw") + chance.choice("aeiou"),
    "a shared beginning": lambda chance: WORDS[chance.randrange(60)][:3],
    "a page": lambda chance: message(chance) + " " + " ".join(message(chance) for _ in range(9)),
    "a Chinese sentence": lambda chance: _chinese(chance, 12),
    "one Chinese character": lambda chance: chr(0x4E00 + chance.randint(1, 50)),
    "nobody's word": lambda chance: f"zzz{chance.randint(1, 1000)}",
}
MINE = Within(OWNER)
PLACES: dict[str, Within] = {
    "": MINE,
    ", by a guest": Within(GUEST),
    ", by a guest of few words": Within(RARE_GUEST),
    ", in a folder": Within(OWNER, folder=FOLDERS[0]),
    ", in a few days": Within(OWNER, since=1, before=FEW // 10),
    ", of tools": Within(OWNER, kind="tools"),
}
EXACT: dict[str, Ask] = {
    "a first letter": lambda chance: chance.choice("bcdfghklmnprstvw") + "*",
    "a common beginning": lambda chance: WORDS[chance.randrange(60)][:3] + "*",
    "a common word": lambda chance: WORDS[chance.randrange(3)],
    "three common words": lambda chance: _of(chance, 0, 60, 3),
}


def rows(bench: Benchmark) -> Iterator[Row]:
    """Every kind of question; over a million messages with `--full`."""
    yield from asyncio.run(asking(bench.place("past"), MILLION if bench.full else FEW))


async def asking(folder: Path, messages: int) -> Iterator[Row]:
    """Questions over so many messages, in a home that was closed and opened since."""
    chance, home = random.Random(SEED), folder / "home"
    db = Database.open(home)
    await fill(db, messages, chance)
    db.close()
    db = Database.open(home)
    found = [row(f"the past: a home of {messages:,} messages", "MB", (home / FILE).stat().st_size)]
    found += await _ranked(db, messages, chance)
    found += await _exact(db, messages, chance)
    db.close()
    return iter(found)


async def _ranked(db: Database, messages: int, chance: random.Random) -> list[Row]:
    everything: list[float] = []
    found = []
    for kind, ask in QUESTIONS.items():
        for place, within in PLACES.items():
            if place and kind not in ("a sentence", "common words alone"):
                continue
            times = [await _timed(partial(ranked_search, db, within, ask(chance))) for _ in range(ASKED)]
            everything += times
            found.append(row(f"    ranked: {kind}{place}, p95", "ms", percentile(times, 95)))
    return [*found, row(f"ranked search, {messages:,} messages, p95", "ms", percentile(everything, 95), P95_S)]


async def _exact(db: Database, messages: int, chance: random.Random) -> list[Row]:
    everything: list[float] = []
    found = []
    for kind, ask in EXACT.items():
        for whose, viewer in (("", OWNER), (", by a guest of few words", RARE_GUEST)):
            times = [await _timed(partial(search, db, viewer, ask(chance))) for _ in range(ASKED)]
            everything += times
            found.append(row(f"    exact: {kind}{whose}, p95", "ms", percentile(times, 95)))
    return [*found, row(f"exact search, {messages:,} messages, p95", "ms", percentile(everything, 95), EXACT_P95_S)]


async def _timed(ask: Callable[[], object]) -> float:
    loop = asyncio.get_running_loop()
    start = loop.time()
    await ask()  # type: ignore[misc]
    return loop.time() - start


async def fill(db: Database, messages: int, chance: random.Random) -> None:
    """Conversations of three people in three folders, indexed as the store indexes."""
    log = Transcript(db)
    for number in range(messages // TALK):
        name = new_conversation()
        whose = RARE_GUEST if number == 7 else GUEST if number % 10 == 9 else OWNER
        await log.append(name, [ConversationOpened("terminal", FOLDERS[number % 3], owner=whose)])
        bulk: list[Unsigned] = [
            (name, seq, number * TALK + seq, 0, codec.VERSION, type(fact).__name__, codec.encode(fact))
            for seq, fact in enumerate((said(at, message(chance)) for at in range(TALK)), 2)
        ]
        await db.write(partial(insert, bulk))
        if number % 100 == 99:
            while await db.write(partial(word_index.catch_up, words=db.words)):
                pass
    while await db.write(partial(word_index.catch_up, words=db.words)):
        pass


def said(number: int, text: str) -> AnyFact:
    """Who says it: a person, a model, and now and then a tool."""
    if number % 5 == 4:
        return ToolFinished(CallId(f"c{number}_0"), CallStatus.OK, (Text(text),))
    return UserSaid((Text(text),)) if number % 2 else ModelSaid("v:m", (Text(text),), StopReason.END)
