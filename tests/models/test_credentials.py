"""Keys come from the environment, a command or a private file, and are never shown."""

import asyncio
import os
from pathlib import Path

import pytest

from angelia.core.errors import ConfigError
from angelia.models.catalog import credentials
from angelia.models.catalog.credentials import Keyring, KeySource
from angelia.models.catalog.vendors import vendor
from angelia.models.port import Credential

pytestmark = pytest.mark.anyio
OPENAI = vendor("openai")


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


async def test_keys_of_the_environment_make_a_pool_in_the_order_of_their_numbers() -> None:
    environ = {"OPENAI_API_KEY_10": "j", "OPENAI_API_KEY_2": "b", "OPENAI_API_KEY": "a", "OPENAI_API_KEY_X": "no"}
    pool = await Keyring({}, environ).pool(OPENAI)
    assert [(one.label, one.secret) for one in pool] == [
        ("OPENAI_API_KEY", "a"),
        ("OPENAI_API_KEY_2", "b"),
        ("OPENAI_API_KEY_10", "j"),
    ]


async def test_sources_of_the_config_add_to_the_pool_and_a_key_counts_once(tmp_path: Path) -> None:
    file = private(tmp_path / "keys", "# mine\nfirst\nsecond # the old one\n\na\n")
    sources = {
        "openai": [KeySource(file=str(file)), KeySource(command="printf 'third\\nmore'"), KeySource(env="MY_KEY")]
    }
    ring = Keyring(sources, {"OPENAI_API_KEY": "a", "MY_KEY": "mine"})
    pool = await ring.pool(OPENAI)
    assert [one.secret for one in pool] == ["a", "mine", "first", "second", "third"]
    assert ring.secrets() == {"a", "mine", "first", "second", "third"}
    assert all(one.secret not in repr(pool) for one in pool if len(one.secret) > 1)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
async def test_a_file_that_others_can_read_is_refused_with_the_way_to_mend_it(mode: int, tmp_path: Path) -> None:
    file = private(tmp_path / "keys", "secret-of-mine")
    file.chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600") as refused:
        await Keyring({"openai": [KeySource(file=str(file))]}, {}).pool(OPENAI)
    assert "secret-of-mine" not in str(refused.value)


@pytest.mark.parametrize("content", [None, "", "# nothing\n"])
async def test_a_file_without_a_key_is_an_error_that_names_it(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    if content is not None:
        private(file, content)
    with pytest.raises(ConfigError, match="keys"):
        await Keyring({"openai": [KeySource(file=str(file))]}, {}).pool(OPENAI)


@pytest.mark.parametrize("command", ["echo no such entry >&2; exit 3", "true"])
async def test_a_command_that_gives_no_key_is_an_error(command: str) -> None:
    with pytest.raises(ConfigError, match="key command of openai"):
        await Keyring({"openai": [KeySource(command=command)]}, {}).pool(OPENAI)


async def test_the_key_is_had_though_what_the_command_left_goes_on(tmp_path: Path) -> None:
    os.mkfifo(fifo := tmp_path / "fifo")
    pool = await Keyring({"openai": [KeySource(command=f"cat {fifo} & echo the-key")]}, {}).pool(OPENAI)
    assert [one.secret for one in pool] == ["the-key"]
    await asyncio.to_thread(fifo.write_text, "")  # it is still there, and ends now


async def test_a_command_that_hangs_in_what_it_began_is_waited_for_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "COMMAND_SECONDS", 0.2)
    os.mkfifo(fifo := tmp_path / "fifo")
    with pytest.raises(ConfigError, match="gave no answer within"):
        await Keyring({"openai": [KeySource(command=f"cat {fifo} & wait")]}, {}).pool(OPENAI)
    await asyncio.to_thread(fifo.write_text, "")


async def test_a_command_runs_once_and_again_when_its_key_was_rejected(tmp_path: Path) -> None:
    count = tmp_path / "count"
    ring = Keyring({"openai": [KeySource(command=f"echo x >> '{count}'; wc -l < '{count}' | tr -d ' '")]}, {})
    assert [one.secret for one in await ring.pool(OPENAI)] == ["1"]
    assert [one.secret for one in await ring.pool(OPENAI)] == ["1"]
    ring.forget(OPENAI)
    assert [one.secret for one in await ring.pool(OPENAI)] == ["2"]


async def test_a_server_of_one_s_own_needs_no_key_and_any_other_does() -> None:
    assert await Keyring({}, {}).pool(vendor("ollama")) == (Credential("no key", ""),)
    assert await Keyring({}, {}).pool(OPENAI) == ()
    assert Keyring({}, {}).has(vendor("ollama"))
    assert not Keyring({}, {"OPENAI_API_KEY": " "}).has(OPENAI)
    assert Keyring({}, {"OPENAI_API_KEY": "a"}).has(OPENAI)
    assert Keyring({"openai": [KeySource(command="exit 1")]}, {}).has(OPENAI)


async def test_the_process_s_own_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "GROQ_API_KEY", "g")
    assert [one.secret for one in await Keyring().pool(vendor("groq"))] == ["g"]
