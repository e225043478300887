"""Claims about who may speak."""

import pytest

from angelia.policy.access import Principal, admit
from angelia.policy.verdict import Allow, Deny

ANN = Principal("telegram", "4711", "ann")


def test_whoever_is_listed_by_id_is_admitted() -> None:
    assert isinstance(admit(ANN, ["discord:1", "telegram:4711"]), Allow)


@pytest.mark.parametrize(
    "allowlist",
    [
        [],
        ["*"],
        ["telegram:*"],
        ["4711"],
        ["ann"],
        ["@ann"],
        ["telegram:ann"],
        ["discord:4711"],
        ["telegram:47110"],
        [""],
        [":"],
    ],
)
def test_everybody_else_is_not(allowlist: list[str]) -> None:
    assert isinstance(admit(ANN, allowlist), Deny)


@pytest.mark.parametrize("nobody", [Principal("", ""), Principal("telegram", ""), Principal("", "4711")])
def test_without_an_id_nobody_is_admitted(nobody: Principal) -> None:
    assert isinstance(admit(nobody, [str(nobody), "", ":"]), Deny)
