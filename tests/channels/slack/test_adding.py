"""`angelia channels add slack` keeps the tokens where only their owner reads them, and writes settings that hold."""

import tomllib
from pathlib import Path

from click.testing import CliRunner, Result

from angelia.channels.registry import find_channel, read_settings
from angelia.channels.slack.settings import SlackSettings
from angelia.faces.cli.main import angelia
from tests.channels.slack import world as w


def ran(home: Path, *more: str, typed: str = "") -> Result:
    """What `angelia channels add slack` does."""
    runner = CliRunner(env={"ANGELIA_HOME": str(home)})
    words = ["channels", "add", "slack", "--unchecked", *more]
    return runner.invoke(angelia, words, input=typed, standalone_mode=False)


def added(home: Path, *more: str, typed: str = "") -> SlackSettings:
    """The settings that an added channel has."""
    home.mkdir()
    ended = ran(home, *more, typed=typed)
    assert ended.exception is None, ended.output
    assert w.TOKEN not in ended.output
    assert w.APP_TOKEN not in ended.output
    section = tomllib.loads((home / "config.toml").read_text())["channels"]["slack"]
    settings = read_settings("slack", section, find_channel("slack", section))
    assert isinstance(settings, SlackSettings)
    return settings


def test_tokens_that_are_typed_are_kept_in_files(tmp_path: Path) -> None:
    settings = added(tmp_path / "home", "--owner", w.FRIEND, typed=f"{w.TOKEN}\n{w.APP_TOKEN}\n")
    for secret, token in ((settings.token, w.TOKEN), (settings.app_token, w.APP_TOKEN)):
        assert Path(secret.file).read_text() == f"{token}\n"
        assert Path(secret.file).stat().st_mode & 0o077 == 0
    assert settings.signing_secret.env == "SLACK_SIGNING_SECRET", "Socket Mode needs none"
    assert settings.owners == (w.FRIEND,)


def test_tokens_that_are_given_are_not_asked_for(tmp_path: Path) -> None:
    given = ("--token", w.TOKEN, "--with", f"app_token={w.APP_TOKEN}", "--owner", w.FRIEND)
    settings = added(tmp_path / "home", *given)
    assert Path(settings.app_token.file).read_text() == f"{w.APP_TOKEN}\n"


def test_a_setting_that_the_network_has_not_is_named(tmp_path: Path) -> None:
    ended = ran(tmp_path, "--token", w.TOKEN, "--with", "apptoken=x", "--owner", "U1")
    assert "apptoken" in str(ended.exception)
    assert not (tmp_path / "config.toml").exists()
