"""Two hundred questions, asked in five places, and what is remembered in eight scopes: only what holds there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import NoteKind, NoteScope
from angelia.core.ids import new_conversation
from angelia.core.principal import OWNER, Principal
from angelia.service.app import App
from angelia.service.conversation.session import Session
from angelia.service.settings.config import load
from angelia.store.tables.notes import Holds
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

GUEST = Principal("telegram", "7")
THINGS = (
    "bees", "roof", "wifi", "train", "piano", "kayak", "garden", "doctor", "oven", "passport", "boiler", "cello",
    "goat", "ladder", "mortgage", "compost", "bicycle", "greenhouse", "dentist", "telescope", "fence", "choir",
    "cellar",
    "insurance", "quilt", "chimney", "pond", "tractor", "orchard", "printer", "sauna", "aquarium", "violin", "attic",
    "kiln", "harbour", "barn", "museum", "vineyard", "lighthouse",
)  # fmt: skip
"""Each is noted once, in one of the scopes, and asked for in every place."""


class Asked(Struct, frozen=True):
    """Where a question is asked: by whom, in which folder, in which chat, and whether others read along."""

    owner: Principal
    folder: str
    chat: str = ""
    group: bool = False


PLACES = (
    Asked(OWNER, "garden"),
    Asked(OWNER, "house"),
    Asked(OWNER, "garden", "5"),
    Asked(OWNER, "garden", "-9", group=True),
    Asked(GUEST, "garden", "7"),
)


def scopes(root: Path) -> list[Holds]:
    """Where something is remembered; the last two are of nobody who asks."""
    garden, house = str(root / "garden"), str(root / "house")
    return [
        Holds(NoteScope.PERSON, "", OWNER),
        Holds(NoteScope.PROJECT, garden, OWNER),
        Holds(NoteScope.PROJECT, house, OWNER),
        Holds(NoteScope.CHAT, "telegram:5", OWNER),
        Holds(NoteScope.CHAT, "telegram:-9", OWNER),
        Holds(NoteScope.PERSON, "", GUEST),
        Holds(NoteScope.PROJECT, garden, GUEST),
        Holds(NoteScope.CHAT, "telegram:-8", OWNER),
    ]


def holds(where: Holds, asked: Asked, root: Path) -> bool:
    """The label: whether what is remembered there is for who asks here."""
    in_chat = where.scope is NoteScope.CHAT and where.about == f"telegram:{asked.chat}"
    if asked.group or in_chat:
        return in_chat
    theirs = where.owner == asked.owner
    return theirs and (where.scope is NoteScope.PERSON or where.about == str(root / asked.folder))


@asynccontextmanager
async def home(tmp_path: Path) -> AsyncIterator[App]:
    async with ModelServer(lambda _: say("Yes.")) as server:
        place = Place(tmp_path, server)
        app = await App.open(load(place.home, place.env, (), {"model": f"{place.wire}:m"}), place.env)
        yield app
        await app.close()


async def remembered(app: App, root: Path) -> None:
    """Every thing is noted in one of the scopes, by whoever it is of."""
    for number, thing in enumerate(THINGS, 1):
        where = scopes(root)[number % 8]
        proposed = e.NoteProposed(
            number, where.scope, where.about, NoteKind.FACT, f"The {thing} is number {number}.", where.owner
        )
        opened = e.ConversationOpened("terminal", str(root), owner=where.owner)
        await app.transcript.append(new_conversation(), [opened, proposed, e.NoteKept(number, where.owner)])


async def begun(app: App, root: Path, asked: Asked) -> Session:
    session = app.conversations.begin(door="telegram", workspace=root / asked.folder, owner=asked.owner)
    address = e.Address("telegram", asked.chat) if asked.chat else e.Address("terminal")
    await session.record(e.UserSaid((Text("hello"),), asked.owner, address, reply_to="1" if asked.group else ""))
    return session


async def test_to_two_hundred_questions_nothing_of_another_scope_is_shown(tmp_path: Path) -> None:
    for name in ("garden", "house"):
        (tmp_path / name).mkdir()
    async with home(tmp_path) as app:
        await remembered(app, tmp_path)
        shown = wanted = 0
        for asked in PLACES:
            notes = app.conversations.notes(await begun(app, tmp_path, asked))
            assert notes
            prompt = " ".join(note.text for note in (await notes.in_prompt())[0])
            for number, thing in enumerate(THINGS, 1):
                label = holds(scopes(tmp_path)[number % 8], asked, tmp_path)
                answer = f"is number {number}."
                found = await notes.recall(f"where is the {thing}?", 10)
                assert (answer in found) is label, (asked, thing)
                assert (answer in prompt) is label, (asked, thing)
                wanted += label
                shown += 1
        assert (shown, wanted) == (200, 50)
