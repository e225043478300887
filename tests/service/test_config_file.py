"""Settings are changed in their file: looked through first, comments kept, whole or not at all."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct

from angelia.channels.registry import OURS, find_channel
from angelia.core.errors import AngeliaError, BadInput, ConfigError
from angelia.models.catalog.vendor import Vendor
from angelia.service.settings.config import Config, load
from angelia.service.settings.config_file import ConfigFile
from angelia.service.settings.private_file import write_private
from tests import nursery

COMMENTED = """\
# mine
model = "openai:x"  # the good one

# no more than this
[limits]
max_steps = 3  # three

[channels.telegram]
owners = ["4711"]  # me
"""


def file_with(home: Path, text: str) -> ConfigFile:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)
    return ConfigFile(home)


def test_every_comment_stays_where_it_was(tmp_path: Path) -> None:
    file = file_with(tmp_path, COMMENTED)
    file.set("limits.max_steps", "20")
    file.set("limits.max_cost", "2.5")
    file.set("effort", "low")
    file.set("channels.telegram.groups", "all")
    wanted = COMMENTED.replace("max_steps = 3  # three", "max_steps = 20  # three\nmax_cost = 2.5")
    wanted = wanted.replace("the good one\n", 'the good one\neffort = "low"\n') + 'groups = "all"\n'
    assert file.text() == wanted


def test_what_is_set_and_taken_out_again_leaves_the_text_as_it_was(tmp_path: Path) -> None:
    file = file_with(tmp_path, COMMENTED)
    for key, value in (("sandbox.local.free_mb", "300"), ("policy.mode", "ask"), ("effort", "low")):
        file.set(key, value)
        assert file.unset(key)
    assert file.text() == COMMENTED
    assert not file.unset("policy.mode")


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("model", "openai:5", "openai:5"),
        ("limits.max_steps", "20", 20),
        ("fallback", "ollama:a, openai:b", ["ollama:a", "openai:b"]),
        ("fallback", '["ollama:a"]', ["ollama:a"]),
        ("context.instructions", "42", "42"),
        ("channels.telegram.owners", "4711", ["4711"]),
        ("vendors.openai.key_file", "~/.keys/openai", "~/.keys/openai"),
        ("remedies.busy.wait", "5", 5),
    ],
)
def test_a_value_is_read_as_its_setting_takes_it(tmp_path: Path, key: str, value: str, stored: object) -> None:
    assert ConfigFile(tmp_path / "home").set(key, value) == stored
    load(tmp_path / "home", {})


REFUSED = [
    ("limits.max_step", "3", "Did you mean limits.max_steps?"),
    ("max_steps", "3", "Did you mean limits.max_steps?"),
    ("policy.mod", "ask", "Did you mean policy.mode?"),
    ("policy.mode", "pla", 'It takes "plan", "ask", "edit" or "autonomous". Did you mean plan?'),
    ("limits.max_steps", "many", "This is text. It takes a whole number from 0 on."),
    ("limits.max_steps", "-5", "This is out of range. It takes a whole number from 0 on."),
    ("limits.patience", "-2", "It takes a whole number from -1 on."),
    ("context.share", "0", "This is out of range. It takes a number from 0.05 to 1."),
    ("context.share", "1.5", "It takes a number from 0.05 to 1."),
    ("context.summary_seconds", "0", "It takes a number above 0."),
    ("timeouts.connect", "0", "It takes a number above 0."),
    ("timeouts.first_byte", "0", "This is out of range. It takes a number above 0."),
    ("timeouts.silence", "0.0", "It takes a number above 0."),
    ("delegation.silent_minutes", "0", "It takes a number above 0."),
    ("undo.file_bytes", "0", "It takes a whole number from 1 on."),
    ("gateway.link_hours", "0", "It takes a whole number from 1 on."),
    ("painter.seconds", "0", "It takes a number above 0."),
    ("sandbox.local.memory_percent", "101", "It takes a whole number from 0 to 100."),
    ("remedies.busy.wait", "-1", "It takes a whole number from 0 on."),
    ("retention.doors.web", "-1", "It takes a whole number from 0 on."),
    ("channels.telegram.stale_minutes", "-1", "It takes a whole number from 0 on."),
    ("vendors.openai.window", "-1", "It takes a whole number from 0 on."),
    ("language", "german", "This has another form."),
    ("model", "gpt-5", 'It takes "VENDOR:NAME", such as "openai:gpt-5".'),
    ("model", "antropic:claude", "Did you mean anthropic?"),
    ("channels.telegrm.owners", "4711", "There is no setting"),
    ("channels.telegram.owner", "4711", "There is no setting"),
    ("vendors.openai.quirks", "purple", "purple"),
    ("sandbox.presets.local.spec", "docker:alpine", "a preset is named"),
]


@pytest.mark.parametrize(("key", "value", "said"), REFUSED)
def test_a_bad_value_is_refused_before_anything_is_written(tmp_path: Path, key: str, value: str, said: str) -> None:
    file = file_with(tmp_path, COMMENTED)
    with pytest.raises(AngeliaError) as refused:
        file.set(key, value)
    assert said.lower() in str(refused.value).lower()
    assert str(refused.value).endswith("Nothing was changed.")
    assert file.text() == COMMENTED


def _numbers(name: str, hint: object) -> Iterator[tuple[str, object]]:
    """Every setting that is a number, at any depth of what a setting takes, by name, with what it takes."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        for own, inner in get_type_hints(hint, include_extras=True).items():
            yield from _numbers(f"{name}.{own}", inner)
    elif hint in (int, float) or (get_origin(hint) is Annotated and get_args(hint)[0] in (int, float)):
        yield name, hint
    else:
        for inner in get_args(hint):
            yield from _numbers(name, inner)


def test_every_setting_that_is_a_number_says_its_range() -> None:
    groups: list[type[Struct]] = [Config, Vendor, *(find_channel(name, {}).settings for name in OURS)]
    found = [one for group in groups for one in _numbers(group.__name__, group)]
    assert len(found) > 80
    assert [name for name, hint in found if get_origin(hint) is not Annotated] == []


WRONG = """\
model = oops
max_step = 3
[policy]
mode = "pla"
[channels.telegram]
token = "123:secret-token"
[vendors.openai]
key_comand = "pass"
"""


def test_all_errors_of_a_file_are_told_at_once_with_their_lines_and_no_secret(tmp_path: Path) -> None:
    file_with(tmp_path, WRONG)
    with pytest.raises(ConfigError) as wrong:
        load(tmp_path, {})
    head, *lines, _ = str(wrong.value).splitlines()
    assert head == f"5 settings are wrong in {tmp_path / 'config.toml'}:"
    assert [line.partition(",")[0].strip() for line in lines] == [f"line {number}" for number in (1, 2, 4, 6, 8)]
    assert "secret-token" not in str(wrong.value)
    assert "Did you mean key_command?" in lines[-1]
    assert 'never the secret itself: { file = "…" }' in lines[3]


def test_a_file_with_several_errors_can_be_mended_one_by_one(tmp_path: Path) -> None:
    file = file_with(tmp_path, WRONG.replace("oops", '"openai:x"'))
    file.unset("max_step")
    file.set("policy.mode", "plan")
    file.unset("channels.telegram.token")
    file.unset("vendors")
    assert load(tmp_path, {}).config.policy.mode == "plan"


def test_a_whole_text_is_put_in_place_only_when_nothing_in_it_is_wrong(tmp_path: Path) -> None:
    file = file_with(tmp_path, COMMENTED)
    with pytest.raises(BadInput, match="line 4, policy"):
        file.replace(WRONG)
    assert file.text() == COMMENTED
    file.replace("effort = 'low'\n")
    assert load(tmp_path, {}).config.effort == "low"


def test_only_its_owner_can_read_the_file_and_a_link_stays_one(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("")
    target.chmod(0o644)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").symlink_to(target)
    ConfigFile(tmp_path / "home").set("effort", "low")
    assert (tmp_path / "home" / "config.toml").is_symlink()
    assert target.read_text() == 'effort = "low"\n'
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_text_and_nothing_beside_it(tmp_path: Path) -> None:
    write_private(tmp_path / "a", "old")
    with pytest.raises(UnicodeEncodeError):
        write_private(tmp_path / "a", "new \ud800")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a", "old")]


@pytest.mark.anyio
async def test_what_a_killed_process_left_beside_it_goes_with_the_next_write(tmp_path: Path) -> None:
    env = {**os.environ, "ANGELIA_HOME": str(tmp_path / "home")}
    await nursery.run_killed_at("private.written:1", ["config", "set", "effort", "low"], env)
    [left] = [one for one in (tmp_path / "home").iterdir() if one.name.startswith(".config.toml.")]
    assert left.read_text() == 'effort = "low"\n'
    (tmp_path / "home" / ".config.toml.original").write_text("mine")
    ConfigFile(tmp_path / "home").set("limits.max_steps", "3")
    assert sorted(one.name for one in (tmp_path / "home").glob("*config*")) == [".config.toml.original", "config.toml"]
    assert (tmp_path / "home" / "config.toml").read_text() == "[limits]\nmax_steps = 3\n"


def test_no_change_of_two_at_once_is_lost(tmp_path: Path) -> None:
    keys = ["limits.max_steps", "limits.max_seconds", "limits.day_tokens", "limits.longest_wait"]
    threads = [threading.Thread(target=ConfigFile(tmp_path).set, args=(key, "7")) for key in keys]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    caps = load(tmp_path, {}).config.limits
    assert (caps.max_steps, caps.max_seconds, caps.day_tokens, caps.longest_wait) == (7, 7, 7, 7)
