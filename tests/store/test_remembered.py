"""A remembered value that cannot be read counts as not there, is named in the log file, and hides no other."""

from collections.abc import Awaitable, Callable

import pytest

from angelia.core import entry as e
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import OWNER
from angelia.faces.web.api_keys import ApiKeys, KeyScope
from angelia.service.conversation.handed_out import HandedOut
from angelia.store.port import LogStore
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.proposed_skills import ProposedCall, ProposedSkills
from angelia.store.tables.seen_skills import SeenSkills, SkillAnswer
from angelia.store.tables.trusted_files import FileAnswer, TrustedFiles

pytestmark = pytest.mark.anyio

NAMES = ("one", "two")


async def keys(values: KeyValue) -> Callable[[], Awaitable[list[str]]]:
    async def found() -> list[str]:
        return [one.name for one in await kept.list()]

    kept = ApiKeys(values, lambda: 0)
    for name in NAMES:
        await kept.add(name, KeyScope.CHAT)
    return found


async def skills(values: KeyValue) -> Callable[[], Awaitable[list[str]]]:
    async def found() -> list[str]:
        await kept.put(SkillAnswer(OWNER, "/again", "again", "d", pinned=False, at=0), ())  # which tidies
        await kept.forget(OWNER, "/again")
        return [one.name for one in await kept.list(OWNER)]

    kept = SeenSkills(values)
    for name in NAMES:
        await kept.put(SkillAnswer(OWNER, f"/{name}", name, "d", pinned=False, at=0), ())
    return found


async def files(values: KeyValue) -> Callable[[], Awaitable[list[str]]]:
    async def found() -> list[str]:
        asked = [await kept.answer(OWNER, "", name) for name in NAMES]
        listed = await kept.list(OWNER)
        assert [one for one in asked if one] == listed
        return [one.path for one in listed]

    kept = TrustedFiles(values)
    for name in NAMES:
        await kept.put(FileAnswer(OWNER, "", name, "v", trusted=True, at=0))
    return found


async def proposals(values: KeyValue) -> Callable[[], Awaitable[list[str]]]:
    async def found() -> list[str]:
        return [one.call for one in await kept.list(OWNER)]

    kept = ProposedSkills(values)
    for name in NAMES:
        await kept.put(OWNER, ProposedCall(ConversationId("c"), CallId(name), 0))
    return found


async def handed_out(values: KeyValue) -> Callable[[], Awaitable[list[str]]]:
    async def found() -> list[str]:
        await kept.tidy(0, 1)
        return [name for name in NAMES if await kept.of(ConversationId(name))]

    kept = HandedOut(values, lambda: 0)
    for name in NAMES:
        await kept.keep(ConversationId(name), e.ConversationOpened("web", "/w"))
    return found


@pytest.mark.parametrize("remembered", [keys, skills, files, proposals, handed_out])
async def test_one_that_is_damaged_hides_no_other(
    db: LogStore,
    remembered: Callable[[KeyValue], Awaitable[Callable[[], Awaitable[list[str]]]]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    values = KeyValue(db)
    found = await remembered(values)
    assert await found() == [*NAMES]
    torn = next(key for key, value in await values.all() if NAMES[0] in f"{key}{value}")
    await values.put(torn, '{"na')
    assert await found() == [NAMES[1]]
    assert f"what is remembered as {torn!r} cannot be read" in caplog.text
