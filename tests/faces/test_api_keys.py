"""`angelia web keys`: made once, listed without their secrets, ended."""

import asyncio
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.faces.web.api_keys import ApiKeys, KeyScope
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue
from angelia.testing.model.steps import say
from tests.faces.angelia import serving


def test_a_key_is_shown_once_listed_without_its_secret_and_ended(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Never asked.")]) as place:
        made = place.run("web", "keys", "add", "ide", "--day-cost", "2")
        assert made.code == 0
        assert made.out.startswith("angelia_")
        listed = place.run("web", "keys").out
        assert "ide" in listed
        assert "its own" in listed
        assert made.out.strip() not in listed
        assert place.run("web", "keys", "remove", "ide").code == 0
        assert "no keys" in place.run("web", "keys").err


@pytest.mark.anyio
async def test_of_several_keys_of_one_name_that_are_made_at_once_one_is_made(tmp_path: Path) -> None:
    db = Database.open(tmp_path)
    keys = [ApiKeys(KeyValue(db), lambda: 0) for _ in range(4)]
    made = await asyncio.gather(*(one.add("ide", KeyScope.CHAT) for one in keys), return_exceptions=True)
    assert [type(one) for one in made if not isinstance(one, str)] == [BadInput] * 3
    assert [key.name for key in await keys[0].list()] == ["ide"]
    db.close()


@pytest.mark.anyio
async def test_a_name_that_is_ended_opens_nothing_even_if_two_had_it(tmp_path: Path) -> None:
    db = Database.open(tmp_path)
    kept, keys = KeyValue(db), ApiKeys(KeyValue(db), lambda: 0)
    await keys.add("ide", KeyScope.CHAT)
    ((_, stored),) = await kept.all("api-key:")
    await kept.put("api-key:another", stored)
    await keys.remove("ide")
    assert await keys.list() == []
    db.close()
