"""A chat network is set up in one terminal: its token is tried, and whose first message is confirmed owns it."""

import sqlite3
import stat
import tomllib
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

from angelia.testing.model.steps import say
from tests.faces.angelia import CTRL_C, Place, Terminal, serving
from tests.faces.telegram_process import ID, TelegramProcess, telegram_process


def section(place: Place) -> dict[str, Any]:
    """What is configured of Telegram."""
    found: dict[str, Any] = tomllib.loads((place.home / "config.toml").read_text()).get("channels", {})
    return dict(found.get("telegram", {}))


def add(place: Place, telegram: TelegramProcess, *more: str) -> AbstractContextManager[Terminal]:
    return place.terminal("channels", "add", "telegram", "--with", f"api={telegram.url}", *more)


def test_the_first_message_that_is_confirmed_makes_the_owner(place: Place) -> None:
    with telegram_process() as telegram, add(place, telegram) as terminal:
        terminal.sees("1 In Telegram, open a chat with @BotFather.")
        terminal.sees("https://t.me/BotFather")
        terminal.sees("not shown")
        terminal.types_unseen("123456:nonsense")
        terminal.sees("Unauthorized")
        terminal.types_unseen(telegram.token)
        terminal.sees("this is @angelia_test_bot")
        terminal.sees("Waiting for your first message")
        telegram.hears("is anybody there?")
        terminal.sees(f"({ID}) wrote: is anybody there?")
        terminal.types("y")
        terminal.sees("You are the owner of telegram")
        assert terminal.ends() == 0
        assert telegram.token not in terminal.seen
    assert section(place)["owners"] == [ID]
    kept = place.home / "channels" / "telegram.token"
    assert kept.read_text() == f"{telegram.token}\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert telegram.token not in (place.home / "config.toml").read_text()


def test_whoever_is_not_confirmed_owns_nothing(place: Place) -> None:
    with telegram_process() as telegram, add(place, telegram) as terminal:
        terminal.sees("not shown")
        terminal.types_unseen(telegram.token)
        terminal.sees("Waiting")
        telegram.hears("\x1b[2Jlet me in")
        terminal.sees("␛[2Jlet me in")
        terminal.types("n")
        terminal.sees("Waiting")
        terminal.types("hello, bot")
        terminal.sees("Words typed here reach nobody")
        terminal.types("")
        terminal.sees("Later is fine")
        assert terminal.ends() == 0
    assert "owners" not in section(place)


def test_leaving_at_any_moment_leaves_what_can_be_used(place: Place) -> None:
    with telegram_process() as telegram:
        with add(place, telegram) as terminal:
            terminal.sees("not shown")
            terminal.press(CTRL_C)
            assert terminal.ends() == 130
        assert not (place.home / "config.toml").exists()
        with add(place, telegram) as terminal:
            terminal.sees("not shown")
            terminal.types_unseen(telegram.token)
            terminal.sees("Waiting")
            terminal.press(CTRL_C)
            assert terminal.ends() == 130
        assert section(place)["api"] == telegram.url
        assert "@angelia_test_bot is let in; it has no owner" in place.run("channels", "status").out


def test_a_token_that_is_refused_is_not_kept(place: Place) -> None:
    with telegram_process() as telegram:
        given = ("channels", "add", "telegram", "--with", f"api={telegram.url}", "--token")
        refused = place.run(*given, "123456:nonsense-nonsense")
        assert refused.code == 1
        assert "Unauthorized" in refused.err
        assert not (place.home / "config.toml").exists()
        assert not (place.home / "channels").exists()
        assert place.run(*given, "123456:nonsense-nonsense", "--unchecked").code == 0
        assert place.run("channels", "status").code == 1
        assert place.run("channels", "edit", "telegram", "--token", telegram.token, "--owner", ID).code == 0
        assert section(place) == {
            "api": telegram.url,
            "token": {"file": str(place.home / "channels" / "telegram.token")},
            "owners": [ID],
        }
        told = place.run("channels", "status")
        assert "@angelia_test_bot is let in; 1 owner" in told.out
        assert "No gateway runs" in told.out


def test_what_is_asked_again_is_kept_by_an_empty_line(place: Place) -> None:
    with telegram_process() as telegram:
        given = ("channels", "add", "telegram", "--with", f"api={telegram.url}", "--token")
        assert place.run(*given, "1:old", "--unchecked", "--owner", ID).code == 0
        before = section(place)
        with place.terminal("channels", "edit", "telegram") as terminal:
            terminal.sees("Enter keeps what there is")
            terminal.types_unseen("")
            assert terminal.ends() == 0
        with place.terminal("channels", "edit", "telegram") as terminal:
            terminal.sees("not shown")
            terminal.types_unseen(telegram.token)
            terminal.sees("this is @angelia_test_bot")
            assert terminal.ends() == 0
        assert section(place) == before
        assert (place.home / "channels" / "telegram.token").read_text() == f"{telegram.token}\n"


def test_a_channel_is_disabled_enabled_and_removed_with_its_secrets(place: Place) -> None:
    place.run("channels", "add", "telegram", "--token", "1:x", "--unchecked", "--owner", ID)
    (place.home / "config.toml").write_text(f"# mine\n{(place.home / 'config.toml').read_text()}")
    assert place.run("channels", "disable", "telegram").code == 0
    assert "disabled, 1 owner," in place.run("channels").out
    closed = place.run("gateway", "--set", "model=ollama:x")
    assert (closed.code, "Every channel is disabled." in closed.err) == (1, True)
    assert place.run("channels", "enable", "telegram").code == 0
    assert section(place)["enabled"] is True
    assert place.run("channels", "remove", "telegram", "--yes").code == 0
    assert (place.home / "config.toml").read_text() == "# mine\n"
    assert not (place.home / "channels" / "telegram.token").exists()
    assert place.run("channels", "remove", "telegram", "--yes").code == 2


def test_doctor_looks_at_channels_and_mends_what_others_could_read(place: Place) -> None:
    with telegram_process() as telegram:
        given = ("channels", "add", "telegram", "--with", f"api={telegram.url}", "--token", telegram.token)
        assert place.run(*given, "--owner", ID).code == 0
        kept = place.home / "channels" / "telegram.token"
        kept.chmod(0o644)
        place.home.chmod(0o755)
        seen = place.run("doctor", "--model", "openai-chat:test").out
        assert "✘ privacy" in seen
        assert "✘ channel telegram" in seen
        mended = place.run("doctor", "--fix", "--model", "openai-chat:test").out
        assert "✔ privacy              mended: " in mended
        assert "✔ channel telegram     @angelia_test_bot is let in; 1 owner" in mended
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert stat.S_IMODE(place.home.stat().st_mode) == 0o700
        assert "privacy              only you can read" in place.run("doctor", "--offline").out


def test_doctor_mends_a_store_whose_tables_are_not_as_its_log_says(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Hello.")]) as place:
        assert place.ask("hello").code == 0
        with closing(sqlite3.connect(place.home / "angelia.db", isolation_level=None)) as damaged:
            damaged.execute("DELETE FROM spending")
        assert "✘ store" in place.run("doctor", "--offline").out
        assert "mended: every table" in place.run("doctor", "--offline", "--fix").out
        assert "✔ store" in place.run("doctor", "--offline").out
