"""Claims that every store of the log must meet: what a package that brings one runs against it.

@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
async def test_my_store(check: StoreCheck) -> None:
    await check.run(StoreUnderTest(open_mine, "my_package.testing:open_mine", an_address_of_an_empty_store))
"""

import asyncio
import signal
from collections.abc import Awaitable
from functools import partial
from typing import TypeVar

from angelia.core import codec
from angelia.core.content import Text
from angelia.core.entry import (
    Address,
    ConversationOpened,
    DeliveryQueued,
    DeliverySettled,
    DeliveryStatus,
    OccurrencesMissed,
    Scheduled,
)
from angelia.core.errors import BadInput, Fenced, NotFound
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.principal import OWNER, Principal
from angelia.core.timing import Every
from angelia.store.log import lease as leases
from angelia.store.log.chain import FIRST, StoredEntry, checksum
from angelia.store.log.copying import take
from angelia.store.log.examined import by_place
from angelia.store.log.follow import BEGINNING, follow
from angelia.store.log.lease import HeldElsewhere, Lease
from angelia.store.log.projections import TABLES, rederive
from angelia.store.log.ranked_search import Within, ranked_search
from angelia.store.log.search import search
from angelia.store.log.transcript import Mark, Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.connections import scratch
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.outbox import Outbox
from angelia.testing.claims import expect
from angelia.testing.stores.ground import StoreCheck, StoreGround, StoreUnderTest, said, words_in

__all__ = ["StoreCheck", "StoreUnderTest", "checks"]

T = TypeVar("T")

_WRITERS, _EACH = 6, 12
_HOUR_MS = 3_600_000


async def what_is_appended_is_there_in_its_order(ground: StoreGround) -> None:
    one, other = await ground.conversation(), await ground.conversation()
    texts = ["first", "zwölf Boxkämpfer", "東京\0都", "x" * 100_000, "", "50 % of ? and 'quotes'"]
    for text in texts:
        await Transcript(ground.here).append(one, [said(text)])
        await Transcript(ground.there).append(other, [said(text)])
    for store in (ground.here, ground.there):
        entries = await Transcript(store).entries(one)
        expect([entry.seq for entry in entries] == list(range(1, len(texts) + 2)), "numbers are not in order")
        expect(words_in([entry.fact for entry in entries]) == texts, "texts come back as others")


async def a_write_that_fails_takes_back_its_own_alone(ground: StoreGround) -> None:
    values = KeyValue(ground.here)

    def fail(connection: StoreConnection) -> None:
        connection.execute("INSERT INTO remembered VALUES (?, ?)", ("taken back", "x"))
        raise BadInput("not this one")

    def misspell(connection: StoreConnection) -> None:
        connection.execute("INSERT INTO remembered VALUES (?, ?)", ("misspelt", "x"))
        connection.execute("INSERT INTO nowhere VALUES (?)", (1,))

    before, failed, misspelt, after = await asyncio.gather(
        values.put("before", "1"),
        ground.here.write(fail),
        ground.here.write(misspell),
        values.put("after", "2"),
        return_exceptions=True,
    )
    expect(before is None and after is None, f"neighbours of what failed failed: {before}, {after}")
    expect(isinstance(failed, BadInput), f"who failed is told {failed!r}")
    expect(isinstance(misspelt, Exception), f"who misspelt is told {misspelt!r}")
    there = await KeyValue(ground.there).all()
    expect(there == [("after", "2"), ("before", "1")], f"there is {there}")


async def whoever_reads_on_from_a_number_misses_nothing(ground: StoreGround) -> None:
    """Numbers are in the order of the commits, whoever writes, while many do."""
    conversations = [await ground.conversation() for _ in range(_WRITERS)]
    wanted = _WRITERS * (_EACH + 1)

    async def write(number: int) -> None:
        store = (ground.here, ground.there)[number % 2]
        for each in range(_EACH):
            await Transcript(store).append(conversations[number], [said(f"{number} {each}")])

    async def look() -> list[int]:
        found: list[int] = []
        while len(found) < wanted:
            after = found[-1] if found else 0
            found += await ground.here.read(partial(_places_after, after=after))
            await asyncio.sleep(0)
        return found

    async def stream() -> int:
        count = 0
        async for some in follow(ground.there, [BEGINNING]):
            count += len(some)
            if count >= wanted:
                break
        return count

    looking, streaming = asyncio.create_task(look()), asyncio.create_task(stream())
    await asyncio.gather(*(write(number) for number in range(_WRITERS)))
    looked = await _soon(looking, "who reads on from a number misses some")
    streamed = await _soon(streaming, "who follows the log misses some")
    expect(len(set(looked)) == wanted == len(looked), f"{len(set(looked))} of {wanted} were seen")
    expect(streamed == wanted, f"{streamed} of {wanted} were followed")


async def who_waits_is_told_of_what_another_process_appends(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    known = 1
    transcript = Transcript(ground.here)
    for number in range(20):
        waiting = asyncio.create_task(transcript.news(conversation, lambda: known))  # noqa: B023
        if number % 2:
            await asyncio.sleep(0)
        await Transcript(ground.there).append(conversation, [said(f"{number}")])
        found = await _soon(waiting, "what another process appended is not told")
        known = found[-1].seq
    erased = asyncio.create_task(transcript.news(conversation, lambda: known))
    await asyncio.sleep(0)
    await Transcript(ground.there).erase(conversation, BlobStore(ground.there.home))
    try:
        await _soon(erased, "who waits for what is erased waits for ever")
    except NotFound:
        return
    expect(False, "what was erased had news")


async def a_key_is_taken_once_wherever_it_comes_in(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    stores = [ground.here, ground.there] * 4
    for key in ("a", "b", "c"):
        tries = (Transcript(store).append(conversation, [said("hello", key)]) for store in stores)
        taken = [entries for entries in await asyncio.gather(*tries) if entries]
        expect(len(taken) == 1, f"{len(taken)} of {len(stores)} repeats were taken in")
    expect(await Transcript(ground.there).of_key(OWNER, "terminal", "b") == conversation, "a key is not known")


async def of_many_who_want_to_drive_one_does(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    tries = (_take(store, conversation) for store in [ground.here, ground.there] * 5)
    results = await asyncio.gather(*tries, return_exceptions=True)
    expect(sum(isinstance(one, Lease) for one in results) == 1, "a conversation is driven by several, or by nobody")
    others = [one for one in results if not isinstance(one, Lease)]
    expect(all(isinstance(one, HeldElsewhere) for one in others), f"who came too late is told {others[:1]}")


async def who_was_outlived_appends_nothing(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    first = await _take(ground.here, conversation, ttl_ms=0)
    second = await _take(ground.there, conversation)
    expect(second.epoch > first.epoch, "a later lease has no higher number")
    await Transcript(ground.there).append(conversation, [said("by the second")], lease=second)
    await _fenced(Transcript(ground.here).append(conversation, [said("by the first")], lease=first))
    await _fenced(first.renew())
    await first.release()
    await second.renew()
    await second.release()
    third = await _take(ground.here, conversation)
    expect(third.epoch > second.epoch, "a later lease has no higher number")
    expect(len(await Transcript(ground.here).entries(conversation)) == 2, "who was outlived appended something")


async def a_lease_is_free_at_once_when_its_process_is_killed(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    with ground.process("hold", conversation, str(_HOUR_MS)) as child:
        assert child.stdout
        expect(child.stdout.readline() == "held 1\n", "another process gets no lease")
        try:
            await _take(ground.here, conversation)
            expect(False, "a lease that another process holds is given away")
        except HeldElsewhere as held:
            expect(f"process {child.pid}" in held.holder, f"the holder is said to be {held.holder}")
        child.kill()
        child.wait()
        lease = await _soon(asyncio.create_task(_as_soon_as_free(ground.here, conversation)), "it is never free")
    expect(lease.epoch == 2, f"the next lease has the number {lease.epoch}")


async def a_driver_that_was_stopped_finds_itself_outlived(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    with ground.process("hold", conversation, "300") as child:
        assert child.stdout
        assert child.stdin
        expect(child.stdout.readline() == "held 1\n", "another process gets no lease")
        child.send_signal(signal.SIGSTOP)
        lease = await _soon(asyncio.create_task(_as_soon_as_free(ground.here, conversation)), "it never runs out")
        await Transcript(ground.here).append(conversation, [said("by the next")], lease=lease)
        child.send_signal(signal.SIGCONT)
        child.stdin.write("\n")
        child.stdin.flush()
        expect(child.stdout.readline() == "fenced\n", "who was outlived appended something")


async def what_was_acknowledged_outlives_its_process(ground: StoreGround) -> None:
    """Killed in the middle of many writes, several times."""
    conversation = await ground.conversation()
    acknowledged: list[str] = []
    for life in ("one", "two", "three"):
        with ground.process("append", conversation, life) as child:
            assert child.stdout
            lines = [child.stdout.readline() for _ in range(30)]
            child.kill()
            lines += child.stdout.readlines()
            acknowledged += [line.strip() for line in lines if line.endswith("\n")]
    entries = await Transcript(ground.here).entries(conversation)
    there = words_in([entry.fact for entry in entries])
    missing = set(acknowledged) - set(there)
    expect(not missing, f"{len(missing)} acknowledged messages are lost")
    expect(len(set(there)) == len(there), "messages are there twice")
    for life in ("one", "two", "three"):
        for writer in range(4):
            numbers = [int(text.split()[2]) for text in there if text.startswith(f"{life} {writer} ")]
            expect(numbers == list(range(1, len(numbers) + 1)), "messages of one writer are out of order")


async def a_delivery_is_settled_once(ground: StoreGround) -> None:
    conversation, delivery = await ground.conversation(), DeliveryId("d1")
    queued = DeliveryQueued(delivery, Address("chat", "one"), (Text("an answer"),), "answer")
    await Transcript(ground.here).append(conversation, [queued])
    waiting = await Outbox(ground.there).pending("chat")
    expect([one.id for one in waiting] == [delivery], f"what waits is {waiting}")
    settled = DeliverySettled(delivery, DeliveryStatus.SENT, "there")
    tries = (Transcript(store).append(conversation, [settled]) for store in [ground.here, ground.there] * 3)
    taken = [entries for entries in await asyncio.gather(*tries) if entries]
    expect(len(taken) == 1, f"it was settled {len(taken)} times")
    expect(await Outbox(ground.here).pending("chat") == [], "what is settled waits still")


async def an_occurrence_has_one_fact(ground: StoreGround) -> None:
    schedule = await ground.conversation()
    made = Scheduled(Every(60), "UTC", "look", 0, Address("chat"), OWNER)
    await Transcript(ground.here).append(schedule, [made])
    for due in (60_000, 120_000):
        missed = OccurrencesMissed(due, due, 1, "asleep")
        tries = (Transcript(store).append(schedule, [missed]) for store in [ground.here, ground.there] * 3)
        taken = [entries for entries in await asyncio.gather(*tries) if entries]
        expect(len(taken) == 1, f"{len(taken)} facts of one occurrence were taken")


async def who_looks_sees_what_is_their_own(ground: StoreGround) -> None:
    ann, ben = Principal("chat", "ann"), Principal("chat", "ben")
    hers, his = await ground.conversation(ann), await ground.conversation(ben)
    await Transcript(ground.here).append(hers, [said("the word is canary")])
    await Transcript(ground.here).append(his, [said("the word is crumb")])
    for store in (ground.here, ground.there):
        transcript = Transcript(store)
        for viewer, own in ((ann, [hers]), (ben, [his]), (OWNER, [his, hers])):
            listed = [one.id for one in await transcript.conversations(viewer)]
            expect(sorted(listed) == sorted(own), f"{viewer} sees {listed}")
            found = {hit.conversation for hit in (await search(store, viewer, "word")).hits}
            expect(found == set(own), f"{viewer} finds {found}")
        ranked = await ranked_search(store, Within(ben), "canary")
        expect(not ranked.hits and not ranked.terms.used, "that a word was said is told to who may not know")


async def lists_are_by_last_use_and_their_pages_fit(ground: StoreGround) -> None:
    """By the moment of the last entry; of one moment by their ids. A page begins where the one before ended."""
    reader = Principal("chat", "reader")
    moments = [5 * _HOUR_MS + 1, 5 * _HOUR_MS, 7 * _HOUR_MS, 1, 7 * _HOUR_MS, 6 * _HOUR_MS - 1]
    for number, at in enumerate(moments):
        name = ConversationId(f"{number}")
        await Transcript(ground.here).append(name, [ConversationOpened("chat", "/w", owner=reader)], at=[1])
        await Transcript(ground.here).append(name, [said("again")], at=[at])
    order = [f"{number}" for at, number in sorted(((at, number) for number, at in enumerate(moments)), reverse=True)]
    for store in (ground.here, ground.there):
        transcript, found, mark = Transcript(store), list[str](), None
        while page := await transcript.conversations(reader, 2, before=mark):
            found += [one.id for one in page]
            mark = Mark(page[-1].last_at, page[-1].id)
        expect(found == order, f"pages list {found}, and not {order}")
        by_door = [one.id for one in await transcript.conversations(OWNER, 3, door="chat", workspace="/w")]
        expect(by_door == order[:3], f"a door and a folder list {by_door}, and not {order[:3]}")


async def words_are_found_as_they_are_meant(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    texts = ("the big red fish", "a big fish in Cafés", "私は東京都に住む", "fish that is big", "résumé writing")
    await Transcript(ground.here).append(conversation, [said(text) for text in texts])
    queries = {
        "big fish": {2, 3, 5},
        '"big fish"': {3},
        "cafes": {3},
        "cafe*": {3},
        "東京": {4},
        "都": {4},
        "京都": {4},
        "RESUME": {6},
        "fis*": {2, 3, 5},
        "fis": set[int](),
        "東都": set[int](),
    }
    for query, wanted in queries.items():
        found = {hit.seq for hit in (await search(ground.there, OWNER, query)).hits}
        expect(found == wanted, f"{query} finds {sorted(found)}, not {sorted(wanted)}")
    best = (await ranked_search(ground.there, Within(OWNER), "who writes a resume?")).hits
    expect([hit.found.seq for hit in best][:1] == [6], "what a question is about is not found first")


async def erased_it_is_gone_and_its_number_is_nobody_elses(ground: StoreGround) -> None:
    kept, gone = await ground.conversation(), await ground.conversation()
    await Transcript(ground.here).append(gone, [said("xyzzy", "key")])
    (*_, last) = await ground.here.read(partial(_places_after, after=0))
    await search(ground.here, OWNER, "xyzzy")
    await Transcript(ground.here).erase(gone, BlobStore(ground.here.home))
    try:
        await Transcript(ground.there).entries(gone)
        expect(False, "what was erased can be read")
    except NotFound:
        pass
    expect(not (await search(ground.there, OWNER, "xyzzy")).hits, "what was erased is found")
    taken = await Transcript(ground.there).append(kept, [said("again", "key")])
    expect(bool(taken), "a key of what was erased is known")
    (*_, newest) = await ground.there.read(partial(_places_after, after=0))
    expect(newest > last, "a number of what was erased was given again")


async def an_entry_neither_changes_nor_goes(ground: StoreGround) -> None:
    conversation = await ground.conversation()
    attempts = (
        "UPDATE entries SET body = ?",
        "DELETE FROM entries WHERE sum <> ?",
        "INSERT INTO entries (conversation, seq, at, epoch, version, kind, body, sum)"  # noqa: ISC004 - one statement
        " SELECT conversation, seq, at, epoch, version, kind, body, ? FROM entries",
    )
    for statement in attempts:
        (told,) = await asyncio.gather(ground.here.write(partial(_run, statement=statement)), return_exceptions=True)
        expect(isinstance(told, Exception), f"the log takes {statement!r}")
    expect(len(await Transcript(ground.there).entries(conversation)) == 1, "the log was changed")


async def what_is_derived_is_what_the_log_says(ground: StoreGround) -> None:
    """After all that the other claims do to one store, its tables are those that the log gives anew."""
    for claim in (
        who_looks_sees_what_is_their_own,
        lists_are_by_last_use_and_their_pages_fit,
        a_delivery_is_settled_once,
        an_occurrence_has_one_fact,
        erased_it_is_gone_and_its_number_is_nobody_elses,
    ):
        await claim(ground)
    different = await ground.here.read(_differing)
    expect(not different, f"tables differ from the log: {different}")


async def rows_bring_their_numbers_and_none_is_given_twice(ground: StoreGround) -> None:
    """What a log that is copied here needs: its rows keep their numbers, and later ones come after the highest that was
    ever given, also to a row that is gone.
    """
    await ground.conversation()
    store, numbers = ground.here, ground.here.numbers
    given = (await store.read(partial(_places_after, after=0)))[-1]
    expect(await store.read(partial(numbers.last, table="entries")) == given, "the last number is not the highest one")
    expect(await store.read(partial(numbers.last, table="grants")) == 0, "a number was given before any row")
    brought, gone = given + 50, given + 500
    await store.write(partial(take, numbers=numbers, page=[(brought, _opened(ConversationId("brought")))]))
    for number in (gone, brought):  # a lower one changes nothing
        await store.write(partial(numbers.go_on_after, table="entries", number=number))
    await store.write(partial(numbers.go_on_after, table="grants", number=7))
    expect(await store.read(partial(numbers.last, table="entries")) == gone, "a number that was given is not known")
    await Transcript(ground.there).append(ConversationId("brought"), [said("and on")])
    after = await store.read(partial(_places_after, after=given))
    expect(after == [brought, gone + 1], f"numbers go on as {after}, after {brought} was brought and {gone} given")
    granted = "INSERT INTO grants (principal, sandbox, workspace, conversation, pattern, given_by, given_at, until)"
    row = f"{granted} VALUES ('a', '', '', '', '', 'a', 0, 0) RETURNING id"
    number = await store.write(lambda connection: int(connection.execute(row).fetchone()[0]))
    expect(number == 8, f"a grant is given the number {number} after 7 was given")


def _opened(conversation: ConversationId) -> StoredEntry:
    opened = ConversationOpened("terminal", "/work")
    unsigned = (conversation, 1, 1, 0, codec.VERSION, codec.kind_of(opened), codec.encode(opened))
    return StoredEntry(*unsigned, checksum(FIRST, unsigned))


async def values_are_kept_by_their_names(ground: StoreGround) -> None:
    values, others = KeyValue(ground.here), KeyValue(ground.there)
    for key, value in (("b%", "1"), ("b_2", "2"), ("a", "3"), ("b%", "4"), ("ä", "5")):
        await values.put(key, value)
    expect(await others.get("b%") == "4", "a value is not the last one")
    expect(await others.all("b") == [("b%", "4"), ("b_2", "2")], "values are not in the order of their names")
    tries = (store.replace("a", "3", f"{number}") for number, store in enumerate([values, others] * 4))
    expect(sum(await asyncio.gather(*tries)) == 1, "several who replace one value are told that they did")
    expect(await values.replace("new", "", "1"), "a value that is not there is not replaced")
    await others.forget("b%")
    expect(await values.get("b%", "none") == "none", "what is forgotten is known")


def _places_after(connection: StoreConnection, after: int) -> list[int]:
    return [place for place, _ in by_place(connection, after)]


def _run(connection: StoreConnection, statement: str) -> None:
    connection.execute(statement, (b"other",))


def _differing(connection: StoreConnection) -> list[str]:
    anew = scratch()
    try:
        rederive(connection, anew)
        different = []
        for table, columns in TABLES.items():
            rows = f"SELECT {columns} FROM {table} ORDER BY {columns}"  # noqa: S608 - names from a table of ours
            if [tuple(row) for row in connection.execute(rows)] != anew.execute(rows).fetchall():
                different.append(table)
        return different
    finally:
        anew.close()


async def _take(store: LogStore, conversation: ConversationId, ttl_ms: int = _HOUR_MS) -> Lease:
    lease, _ = await leases.acquire(store, conversation, "a driver", lambda _: None, ttl_ms=ttl_ms)
    return lease


async def _as_soon_as_free(store: LogStore, conversation: ConversationId) -> Lease:
    while True:
        try:
            return await _take(store, conversation)
        except HeldElsewhere:
            await asyncio.sleep(0.02)


async def _fenced(act: Awaitable[object]) -> None:
    try:
        await act
    except Fenced:
        return
    expect(False, "who was outlived goes on")


async def _soon(task: "asyncio.Task[T]", otherwise: str) -> T:
    done, _ = await asyncio.wait([task], timeout=60)
    if not done:
        task.cancel()
    expect(bool(done), otherwise)
    return task.result()


_CLAIMS = (
    what_is_appended_is_there_in_its_order,
    a_write_that_fails_takes_back_its_own_alone,
    whoever_reads_on_from_a_number_misses_nothing,
    who_waits_is_told_of_what_another_process_appends,
    a_key_is_taken_once_wherever_it_comes_in,
    of_many_who_want_to_drive_one_does,
    who_was_outlived_appends_nothing,
    a_lease_is_free_at_once_when_its_process_is_killed,
    a_driver_that_was_stopped_finds_itself_outlived,
    what_was_acknowledged_outlives_its_process,
    a_delivery_is_settled_once,
    an_occurrence_has_one_fact,
    who_looks_sees_what_is_their_own,
    lists_are_by_last_use_and_their_pages_fit,
    words_are_found_as_they_are_meant,
    erased_it_is_gone_and_its_number_is_nobody_elses,
    an_entry_neither_changes_nor_goes,
    rows_bring_their_numbers_and_none_is_given_twice,
    what_is_derived_is_what_the_log_says,
    values_are_kept_by_their_names,
)


def checks() -> tuple[StoreCheck, ...]:
    """All claims, in the order in which they are best read."""
    return tuple(StoreCheck(claim.__name__, claim) for claim in _CLAIMS)
