"""`angelia web password`: typed twice or from a pipe, and nowhere to be read afterwards."""

from pathlib import Path

from angelia.testing.model.steps import say
from tests.faces.angelia import serving

PASSWORD = "heron under seven quiet bridges"


def test_a_password_is_set_from_a_pipe_changed_and_removed(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Never asked.")]) as place:
        short = place.run("web", "password", stdin=b"short\n")
        assert short.code == 2
        assert "5 characters; 15 are the least" in short.err
        assert "is set" in place.run("web", "password", stdin=PASSWORD.encode()).err
        assert "is changed" in place.run("web", "password", stdin=PASSWORD.encode() + b"\r\n").err
        for path in place.home.rglob("*"):
            assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path
        reached = ("--set", "web.origin=https://angelia.example.org", "--set", 'web.proxies=["192.0.2.1"]')
        refused = place.run("web", "password", "--remove", *reached)
        assert refused.code != 0
        assert "no passkey for it" in refused.err
        assert "is removed" in place.run("web", "password", "--remove").err
        told = place.run("audit").out
        assert told.count("password set") == 2
        assert told.count("password removed") == 1
        assert PASSWORD not in told
        assert "There is no password" in place.run("web", "password", "--remove").err


def test_at_a_terminal_it_is_asked_for_twice_and_not_shown(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Never asked.")]) as place, place.terminal("web", "password") as terminal:
        terminal.sees("not shown")
        terminal.types_unseen(PASSWORD)
        terminal.sees("Once more")
        terminal.types_unseen(PASSWORD + "x")
        terminal.sees("The two are not the same.")
        assert "heron" not in terminal.seen


def test_beyond_this_machine_nothing_is_served_until_all_is_there(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Never asked.")]) as place:
        refused = place.run("web", "--no-open", "--listen", "0.0.0.0:0")
        assert refused.code == 1
        assert "nothing encrypts" in refused.err
        reached = ("--set", "web.origin=https://angelia.example.org", "--set", 'web.proxies=["192.0.2.1"]')
        refused = place.run("web", "--no-open", "--listen", "0.0.0.0:0", *reached)
        assert "neither a password nor a passkey" in refused.err
        assert "angelia web password" in refused.err
