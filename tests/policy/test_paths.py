"""Claims about which paths may be read, written and sent."""

import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.policy.paths import may_read, may_send, may_write
from angelia.policy.secret_paths import folded
from angelia.policy.situation import Situation
from angelia.policy.verdict import Allow, Ask, Deny

SITUATION = Situation("/home/me/work", "/home/me", "/home/me/.angelia", private_roots=("/srv/private",))
CASES: list[tuple[str, str, str, str]] = tomllib.loads(
    Path(__file__).with_name("paths.toml").read_text(encoding="utf-8")
)["cases"]
LETTERS = {Allow: "y", Ask: "?", Deny: "n"}


@pytest.mark.parametrize(("path", "resolved", "expected", "why"), CASES)
def test_a_path_is_judged_by_where_it_leads(path: str, resolved: str, expected: str, why: str) -> None:
    verdicts = [judge(path, resolved, SITUATION) for judge in (may_read, may_write, may_send)]
    assert "".join(LETTERS[type(verdict)] for verdict in verdicts) == expected, (why, verdicts)
    assert all(verdict.reason for verdict in verdicts)


def test_nothing_in_our_home_is_open_even_to_a_workspace_that_lies_there() -> None:
    inside = msgspec.structs.replace(SITUATION, workspace="/home/me/.angelia/work/a")
    for judge in (may_read, may_write, may_send):
        assert isinstance(judge("x", "/home/me/.angelia/work/a/x", inside), Deny)
        assert isinstance(judge("x", "/home/me/.angelia/angelia.db", inside), Deny)


def test_our_home_within_the_workspace_is_closed() -> None:
    above = msgspec.structs.replace(SITUATION, workspace="/home/me")
    assert isinstance(may_read("x", "/home/me/.angelia/angelia.db", above), Deny)
    assert isinstance(may_read("x", "/home/me/x", above), Allow)
    assert isinstance(may_read(".ssh/id_rsa", "/home/me/.ssh/id_rsa", above), Ask)


def test_folders_above_the_workspace_make_nothing_a_secret() -> None:
    odd = msgspec.structs.replace(SITUATION, workspace="/home/me/.config/gh/plugin")
    assert isinstance(may_read("/home/me/.config/gh/plugin/a.py", "/home/me/.config/gh/plugin/a.py", odd), Allow)


PARTS = st.lists(
    st.sampled_from(["a", "b", ".git", "hooks", ".env", "..", ".", ".ssh", "work", "me", "home"]), max_size=7
)


@given(PARTS)
def test_nothing_outside_the_workspace_is_ever_allowed(parts: list[str]) -> None:
    resolved = "/" + "/".join(parts)
    for judge in (may_read, may_write, may_send):
        verdict = judge(resolved, resolved, SITUATION)
        inside = ".." not in parts and "." not in parts and (resolved + "/").startswith("/home/me/work/")
        assert inside or isinstance(verdict, Deny)


@given(PARTS, st.sampled_from([str.upper, str.title, lambda name: name + ".", lambda name: name + " "]))
def test_no_way_of_writing_a_secret_name_makes_it_sendable(parts: list[str], rewrite: object) -> None:
    assert callable(rewrite)
    secret = "/home/me/work/" + "/".join([*(part for part in parts if part.strip(".")), rewrite(".env")])
    assert isinstance(may_send(secret, secret, SITUATION), Deny)


@given(st.text(alphabet="aA./ \u2024é", max_size=12))
def test_folding_twice_changes_nothing(path: str) -> None:
    assert folded(folded("/" + path)) == folded("/" + path)
