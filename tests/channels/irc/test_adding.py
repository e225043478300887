"""`angelia channels add irc` asks for what an IRC network needs beside a password, and writes settings that hold."""

import tomllib
from pathlib import Path

from click.testing import CliRunner, Result

from angelia.channels.irc.settings import IrcSettings
from angelia.channels.registry import find_channel, read_settings
from angelia.faces.cli.main import angelia


def ran(home: Path, *more: str, typed: str = "") -> Result:
    """What `angelia channels add irc` does."""
    home.mkdir(exist_ok=True)
    runner = CliRunner(env={"ANGELIA_HOME": str(home)})
    return runner.invoke(angelia, ["channels", "add", "irc", *more], input=typed, standalone_mode=False)


def added(home: Path, *more: str, typed: str = "") -> IrcSettings:
    """The settings that an added channel has."""
    ended = ran(home, *more, typed=typed)
    assert ended.exception is None, ended.output
    section = tomllib.loads((home / "config.toml").read_text())["channels"]["irc"]
    settings = read_settings("irc", section, find_channel("irc", section))
    assert isinstance(settings, IrcSettings)
    return settings


def test_what_is_typed_is_set_and_the_usual_stays_with_an_empty_line(tmp_path: Path) -> None:
    settings = added(tmp_path, "--owner", "ann", typed="\nirc.example.org\n\n#garden, #kitchen\n")
    assert (settings.server, settings.nick) == ("irc.example.org", "angelia")
    assert settings.join == ("#garden", "#kitchen")
    assert settings.owners == ("ann",)
    assert settings.token is None


def test_what_is_given_is_read_as_what_it_is_meant_to_be(tmp_path: Path) -> None:
    given = ("--token", "secret", "--owner", "ann", "--with", "port=6667", "--with", "tls=false", "--with", "nick=bob")
    settings = added(tmp_path, *given, "--with", "server_password=hush")
    assert (settings.port, settings.tls, settings.nick) == (6667, False, "bob")
    assert settings.server_password
    assert Path(settings.server_password.file).read_text() == "hush\n"


def test_a_setting_that_is_none_or_cannot_be_used_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    for wrong, said in (("colour=red", "colour"), ("port=many", "channels.irc.port")):
        ended = ran(tmp_path, "--token", "x", "--owner", "ann", "--with", wrong)
        assert said in str(ended.exception)
    assert not (tmp_path / "config.toml").exists()
    assert not (tmp_path / "channels").exists()
