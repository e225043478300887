"""A channel is opened by its section of the settings, or an error says which key to mend."""

from importlib import metadata
from pathlib import Path

import pytest

from angelia.channels import registry
from angelia.channels.failures import LoginFailed
from angelia.channels.port import Channel, ChannelContext
from angelia.channels.registry import find_channel, open_channel, read_settings
from angelia.channels.settings import Secret
from angelia.channels.telegram.channel import CHANNEL, TelegramChannel
from angelia.channels.telegram.settings import TelegramSettings
from angelia.core.errors import ConfigError, MissingPart
from angelia.core.ids import wall_clock


def context(folder: Path) -> ChannelContext:
    async def secret(where: Secret) -> str:
        raise LoginFailed(f"nobody asked for {where}")

    async def recall(name: str) -> str:
        return ""

    async def remember(name: str, value: str) -> None:
        return None

    return ChannelContext("phone", folder, wall_clock, secret, recall, remember, lambda health: None, {})


def test_a_section_opens_the_channel_of_its_name_or_of_its_kind(tmp_path: Path) -> None:
    opened: list[Channel] = [
        open_channel("telegram", {}, context(tmp_path)),
        open_channel("phone", {"kind": "telegram", "owners": ["7"]}, context(tmp_path)),
    ]
    assert [type(one) for one in opened] == [TelegramChannel, TelegramChannel]


def test_settings_are_of_the_networks_own_type() -> None:
    section = {"token": {"file": "~/token"}, "local": True, "chats": {"-5": {"model": "small"}}}
    settings = read_settings("telegram", section, CHANNEL)
    assert isinstance(settings, TelegramSettings)
    assert (settings.token.file, settings.local, settings.chats["-5"].model) == ("~/token", True, "small")


@pytest.mark.parametrize("name", ["owner", "angelia", "key", "tele:gram", ""])
def test_no_channel_is_called_so_that_its_people_could_be_taken_for_somebody_else(name: str) -> None:
    with pytest.raises(ConfigError, match="No channel can be called"):
        find_channel(name, {"kind": "telegram"})


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"owners": "7"}, "channels.telegram.owners"),
        ({"owners": [7]}, r"channels\.telegram\.owners\[0\]"),
        ({"token": {"environment": "X"}}, "channels.telegram.token"),
        ({"groups": "some"}, "channels.telegram.groups"),
        ({"tokn": {}}, "channels.telegram cannot be used: Object contains unknown field `tokn`"),
    ],
)
def test_a_wrong_setting_is_named(section: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        read_settings("telegram", section, CHANNEL)


def test_a_network_that_nobody_knows_is_told_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"Known are .*telegram") as told:
        find_channel("pigeon", {})
    assert "channels.pigeon.kind" in told.value.then


def test_a_third_party_channel_comes_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("pigeon", "angelia.channels.telegram.channel:CHANNEL", registry.GROUP)

    def entry_points(*, group: str, name: str) -> list[metadata.EntryPoint]:
        return [point] if (group, name) == (registry.GROUP, "pigeon") else []

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    assert find_channel("pigeon", {}) is CHANNEL


def test_a_channel_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.OURS, "pigeon", "library_of_pigeons")
    monkeypatch.setitem(registry._LIBRARIES, "pigeon", "library_of_pigeons")
    with pytest.raises(MissingPart, match=r"needs a part that is not installed. Install it: .*pigeon"):
        find_channel("pigeon", {})


def test_a_missing_module_that_is_no_extra_is_no_missing_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.OURS, "pigeon", "library_of_pigeons")
    with pytest.raises(ModuleNotFoundError, match="library_of_pigeons"):
        find_channel("pigeon", {})
