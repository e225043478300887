"""Claims about who may speak."""

import pytest

from angelia.core.principal import Principal
from angelia.policy.access import admit
from angelia.policy.verdict import Allow, Deny

ANN = Principal("telegram", "4711")


def test_whoever_is_listed_by_id_is_admitted() -> None:
    assert isinstance(admit(ANN, [Principal("discord", "1"), Principal("telegram", "4711")]), Allow)


@pytest.mark.parametrize(
    "allowlist",
    [
        [],
        ["telegram:*"],
        ["telegram:ann"],
        ["telegram:@ann"],
        ["discord:4711"],
        ["telegram:47110"],
        ["owner"],
    ],
)
def test_everybody_else_is_not(allowlist: list[str]) -> None:
    assert isinstance(admit(ANN, [Principal.parse(one) for one in allowlist]), Deny)
