"""What was said can be found, in any script."""

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.core.content import CallStatus, Media, MediaKind, Text
from angelia.core.entry import ConversationOpened, SystemSaid, ToolFinished, UserSaid
from angelia.core.errors import BadInput
from angelia.core.ids import CallId, ConversationId, new_conversation
from angelia.core.principal import OWNER
from angelia.store.log import word_index
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from tests.store.words import answered, said

pytestmark = pytest.mark.anyio
OF_INDEX = "SELECT sum(length(block)) FROM words_data"


LOOK = """
import asyncio, json, sys
from pathlib import Path
from angelia.core.principal import OWNER
from angelia.store.log.search import search
from angelia.store.sql.database import Database

def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])

async def look(home, query):
    db = Database.open(Path(home))
    await db.read(lambda connection: connection.execute("SELECT 1 FROM entries LIMIT 1").fetchone())
    before = bytes_read()
    hits = (await search(db, OWNER, query, 100)).hits
    print(json.dumps([[hit.seq for hit in hits], bytes_read() - before]))
    db.close()

asyncio.run(look(*sys.argv[1:]))
"""
"""A process of its own: one that has opened a home may not even look at itself, unless it is root's."""
TEXTS = [
    "The receipt for the café is in receipts/2026",
    "東京都の天気を調べて",
    "明天下午三点开会",
    "서울의 날씨가 좋습니다",
    "ﾃﾞｰﾀを集める",
    "call foo_bar() in main.py",
    "日本",
]

FOUND = [
    ("receipt", [0]),
    ("RECEIPT cafe", [0]),
    ("rece*", [0]),
    ("receip", []),
    ('"the café"', [0]),
    ('"café the"', []),
    ("東京", [1]),
    ("京都", [1]),
    ("東京都の天気", [1]),
    ("天気東京", []),
    ("天", [1, 2]),
    ("て", [1]),
    ("下午 开会", [2]),
    ("날씨", [3]),
    ("データ", [4]),
    ("foo_bar", [5]),
    ("bar", [5]),
    ("日本", [6]),
    ("main.py foo", [5]),
    ("' OR 1=1", []),
    ("NOT receipt", []),
]


@pytest.mark.parametrize(("query", "expected"), FOUND)
async def test_a_query_finds(
    query: str, expected: list[int], db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    await transcript.append(conversation, [said(text) for text in TEXTS])
    assert sorted(hit.seq - 2 for hit in (await search(db, OWNER, query)).hits) == expected


async def test_everything_visible_is_findable_and_nothing_else(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    photo = Media(await blobs.put(b"GIF89a"), MediaKind.IMAGE, name="holiday needle.gif")
    long = ToolFinished(CallId("c1_0"), CallStatus.OK, (Text("needle " + "hay " * 2000 + "thimble"),))
    await transcript.append(conversation, [UserSaid((photo,)), answered("a needle"), long, SystemSaid("needle")])
    assert sorted(hit.seq for hit in (await search(db, OWNER, "needle")).hits) == [2, 3, 4]
    assert (await search(db, OWNER, "thimble")).hits == ()


async def test_hits_say_where_and_when_and_show_the_place(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    entry = (await transcript.append(conversation, [said("word " * 100 + "the Needle\nin " + "hay " * 100)]))[0]
    (hit,) = (await search(db, OWNER, "needle")).hits
    assert (hit.conversation, hit.seq, hit.at) == (conversation, entry.seq, entry.at)
    assert "the Needle in hay" in hit.snippet
    assert hit.snippet.startswith("…")
    assert len(hit.snippet) <= 180


async def test_the_exact_words_come_before_newer_mixed_ones(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    for text in ("red fish here", "fish that is red", "another red one, and a fish"):
        await transcript.append(conversation, [said(text)])
    assert [hit.seq for hit in (await search(db, OWNER, "red fish")).hits] == [2, 4, 3]
    assert [hit.seq for hit in (await search(db, OWNER, "red fish", limit=1)).hits] == [2]


@pytest.mark.parametrize("query", ["", "  ", '""', "-- ?!", "*"])
async def test_a_query_without_words_is_refused(db: Database, query: str) -> None:
    with pytest.raises(BadInput, match="no word to search for"):
        await search(db, OWNER, query)


async def test_what_was_just_appended_is_found_while_the_index_lags(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    for number in range(3 * word_index.STRIDE + 5):
        await transcript.append(conversation, [said(f"w{number} common")])
        if number % 50 == 0:
            assert [hit.seq for hit in (await search(db, OWNER, f"w{number}")).hits] == [number + 2]
    upto = "SELECT (SELECT max(id) FROM entries) - upto FROM indexed"
    behind = await db.read(lambda connection: connection.execute(upto).fetchone()[0])
    assert 0 < behind < word_index.STRIDE
    assert len((await search(db, OWNER, "common", limit=1000)).hits) == 100


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="nobody counts what a process reads here")
async def test_a_first_letter_is_not_gathered_from_all_words_that_begin_with_it(home: Path) -> None:
    """Without an index of beginnings one letter of a million messages took three seconds."""
    db = Database.open(home)
    log, chance = Transcript(db), random.Random(1)
    texts = ["all " + " ".join(f"h{chance.randrange(16**9):09x}" for _ in range(25)) for _ in range(2_000)]
    await log.append(new_conversation(), [ConversationOpened("terminal", "/work"), *map(said, texts)])
    await search(db, OWNER, "all")
    size = await db.read(lambda connection: connection.execute(OF_INDEX).fetchone()[0])
    db.close()
    found, read = dict[str, list[int]](), dict[str, int]()
    for query in ("all", "h*"):
        words = [sys.executable, "-c", LOOK, str(home), query]
        looked = await asyncio.to_thread(subprocess.run, words, capture_output=True, check=True)
        found[query], read[query] = json.loads(looked.stdout)
    assert found["h*"] == found["all"] == [*range(2_001, 1_901, -1)]
    assert read["h*"] < read["all"] + size / 4


async def test_many_search_while_many_write(db: Database, transcript: Transcript, conversation: ConversationId) -> None:
    async def write(number: int) -> None:
        await transcript.append(conversation, [said(f"unique{number}")])
        assert len((await search(db, OWNER, f"unique{number}")).hits) == 1

    await asyncio.gather(*(write(number) for number in range(60)))
