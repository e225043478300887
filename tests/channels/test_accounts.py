"""Two channels that are one account are told, both by name, before one takes what is meant for the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.channels.health import ConnectionHealth
from angelia.channels.registry import find_channel, read_settings
from angelia.core.errors import ConfigError
from angelia.faces.cli.checkup.channels import look_at_channels
from angelia.faces.cli.checkup.check_result import CheckResult
from angelia.service.app import App
from angelia.service.chats.accounts import require_own_accounts
from angelia.service.chats.gateway import Gateway
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio

NOWHERE = 'api = "http://127.0.0.1:9"'


def refused(work: dict[str, object], home: dict[str, object]) -> str:
    """What is said of two channels with these sections; empty where they are let be."""
    sections = {"work": work, "home": home}
    try:
        require_own_accounts(
            {door: read_settings(door, one, find_channel(door, one)) for door, one in sections.items()}
        )
    except ConfigError as error:
        return error.what
    return ""


TOKEN = {"env": "TOKEN"}
SAME: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "both without a token of their own": ({"kind": "telegram"}, {"kind": "telegram"}),
    "the same token": ({"kind": "discord", "token": TOKEN}, {"kind": "discord", "token": TOKEN, "groups": "all"}),
    "the same number": ({"kind": "whatsapp", "phone": "1"}, {"kind": "whatsapp", "phone": "1", "token": TOKEN}),
    "the same app over sockets": ({"kind": "slack"}, {"kind": "slack", "token": TOKEN}),
    "the same nick": ({"kind": "irc", "nick": "ann"}, {"kind": "irc", "nick": "Ann", "join": ["#a"]}),
}
OTHERS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "tokens of their own": ({"kind": "telegram"}, {"kind": "telegram", "token": TOKEN}),
    "another network": ({"kind": "telegram", "token": TOKEN}, {"kind": "discord", "token": TOKEN}),
    "two numbers by one token": ({"kind": "whatsapp", "phone": "1"}, {"kind": "whatsapp", "phone": "2"}),
    "no number yet": ({"kind": "whatsapp"}, {"kind": "whatsapp"}),
    "two bots by webhooks": ({"kind": "slack", "transport": "http"}, {"kind": "slack", "token": TOKEN}),
    "one token at two servers": ({"kind": "telegram"}, {"kind": "telegram", "api": "https://other.example"}),
    "two nicks": ({"kind": "irc", "nick": "ann"}, {"kind": "irc", "nick": "ben"}),
    "two networks of one nick": ({"kind": "irc"}, {"kind": "irc", "server": "irc.oftc.net"}),
    "no place for a token": ({"kind": "telegram", "token": {}}, {"kind": "telegram", "token": {}}),
}


@pytest.mark.parametrize("sections", SAME.values(), ids=SAME)
def test_what_is_one_account_by_its_settings_is_refused_with_both_names(
    sections: tuple[dict[str, object], dict[str, object]],
) -> None:
    assert refused(*sections) == "The channels work and home are the same account."


@pytest.mark.parametrize("sections", OTHERS.values(), ids=OTHERS)
def test_what_are_two_accounts_is_let_be(sections: tuple[dict[str, object], dict[str, object]]) -> None:
    assert refused(*sections) == ""


@asynccontextmanager
async def opened(folder: Path, config: str) -> AsyncIterator[App]:
    """A home with these settings."""
    (folder / "home").mkdir()
    (folder / "home" / "config.toml").write_text(config)
    app = await App.open(load(folder / "home", {"HOME": str(folder)}), {"HOME": str(folder)})
    try:
        yield app
    finally:
        await app.close()


def kept(folder: Path, name: str, token: str) -> str:
    """A token in a file of its own, as a setting."""
    file = folder / name
    file.write_text(f"{token}\n")
    file.chmod(0o600)
    return f'token = {{ file = "{file}" }}'


async def test_a_gateway_does_not_begin_with_one_account_under_two_names(tmp_path: Path) -> None:
    sections = '[channels.work]\nkind = "telegram"\n[channels.home]\nkind = "telegram"\n'
    async with opened(tmp_path, sections) as app:
        gateway = Gateway(app.chat_services)
        with pytest.raises(ConfigError, match="The channels work and home are the same account"):
            await gateway.open()
        await gateway.close()
    (tmp_path / "home" / "config.toml").write_text(f"{sections}enabled = false\n")
    app = await App.open(load(tmp_path / "home", {}), {})
    gateway = Gateway(app.chat_services)
    assert gateway.stand_by() == ("work",)
    await gateway.close()
    await app.close()


async def test_of_two_that_turn_out_to_be_one_account_the_second_is_not_begun(tmp_path: Path) -> None:
    places = {"work": "42:one", "other": "43:two", "home": " 42:one "}
    sections = "".join(
        f'[channels.{door}]\nkind = "telegram"\n{NOWHERE}\n{kept(tmp_path, f"{door}.token", token)}\n'
        for door, token in places.items()
    )
    async with opened(tmp_path, sections) as app:
        results: list[CheckResult] = [one async for one in look_at_channels(app)]
        assert ["the same account" in one.seen for one in results] == [False, False, True]
        told = asyncio.Event()
        gateway = Gateway(app.chat_services, told.set)
        await gateway.open()
        try:
            async with asyncio.timeout(60):
                while any(one.health.state is ConnectionHealth.CONNECTING for one in gateway.standings.values()):
                    told.clear()
                    await told.wait()
            found = {door: one.health for door, one in gateway.standings.items()}
        finally:
            await gateway.close()
        assert {door: "the same account" in one.why for door, one in found.items()} == {
            "work": False,
            "other": False,
            "home": True,
        }
        assert found["home"].state is ConnectionHealth.STOPPED
        assert found["home"].why.startswith("The channels work and home are the same account"), found
