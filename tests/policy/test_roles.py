"""Claims about roles: what each may do, and that whoever has none may nothing."""

import pytest

from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER
from angelia.policy.approvers import Approvers
from angelia.policy.judge import settle
from angelia.policy.roles import Right, least, may
from angelia.policy.verdict import Allow, Ask, Deny

TABLE = {
    PersonRole.OWNER: {Right.TALK, Right.ASK, Right.LEAD, Right.LET_IN, Right.OWN},
    PersonRole.ADMIN: {Right.TALK, Right.ASK, Right.LEAD, Right.LET_IN},
    PersonRole.MEMBER: {Right.TALK, Right.ASK},
    PersonRole.GUEST: {Right.TALK},
    None: set[Right](),
}


@pytest.mark.parametrize("role", TABLE)
def test_each_role_may_do_what_its_row_says_and_nothing_else(role: PersonRole | None) -> None:
    assert {right for right in Right if may(role, right)} == TABLE[role]


def test_among_several_whoever_may_least_decides() -> None:
    order = (None, PersonRole.GUEST, PersonRole.MEMBER, PersonRole.ADMIN, PersonRole.OWNER)
    for at, role in enumerate(order):
        assert {least((role, other)) for other in order[at:]} == {role}


@pytest.mark.parametrize("role", TABLE)
def test_what_asks_is_asked_only_for_whoever_has_that_right(role: PersonRole | None) -> None:
    verdict = settle(Ask("Delete it?", "It cannot be undone."), Approvers((OWNER,), role=role))
    assert isinstance(verdict, Ask if may(role, Right.ASK) else Deny)
    assert isinstance(settle(Allow("It reads."), Approvers((OWNER,), role=role)), Allow)
