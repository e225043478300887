"""Claims about who is what: by the settings, a channel's lists, and as what they were let in."""

from pathlib import Path

import pytest

from angelia.channels.settings import ChannelSettings
from angelia.core.person_role import PersonRole
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.service.people.roles import Roles, role_of, role_of_all
from angelia.service.settings.config import PersonSettings
from angelia.store.sql.database import Database
from angelia.store.tables.pairings import Pairings

pytestmark = pytest.mark.anyio

LISTED = ChannelSettings(owners=("own", "demoted"), allow=("listed", "raised", "lowered"))
SET = {
    "chat:demoted": PersonSettings(role="guest"),
    "chat:set": PersonSettings(role="admin"),
    "mail:stranger": PersonSettings(role="owner"),
    "chat:listed": PersonSettings(),
}
LET_IN = {"paired": "guest", "raised": "owner", "lowered": "guest", "set": "guest"}

ARE = {
    "own": PersonRole.OWNER,
    "demoted": PersonRole.GUEST,
    "listed": PersonRole.MEMBER,
    "raised": PersonRole.OWNER,
    "lowered": PersonRole.MEMBER,
    "paired": PersonRole.GUEST,
    "set": PersonRole.ADMIN,
    "stranger": None,
}


async def test_who_is_what_by_all_that_says_so(tmp_path: Path) -> None:
    db = Database.open(tmp_path / "home")
    pairings = Pairings(db)
    for own, role in LET_IN.items():
        code = await pairings.ask(Principal("chat", own), own)
        assert isinstance(code, str)
        await pairings.approve(code, by=OWNER, role=PersonRole(role))
    roles = await Roles(SET, pairings).at("chat", LISTED)
    assert {own: role_of(Principal("chat", own), roles) for own in ARE} == ARE
    assert role_of(Principal("other", "own"), roles) is None
    db.close()


def test_what_the_owner_arranged_is_asked_of_them_and_a_stranger_beside_it_may_nothing() -> None:
    assert role_of_all([], {}) is PersonRole.OWNER
    assert role_of_all([OWNER, ANGELIA, Principal("signal", "ci")], {}) is PersonRole.MEMBER
    assert role_of_all([ANGELIA, Principal("chat", "1")], {}) is None
