"""`angelia config` as a person uses it, and what mistyped commands are answered."""

import shlex
from pathlib import Path

import pytest

from tests.faces.angelia import Place


def test_a_setting_is_set_shown_and_unset(place: Place) -> None:
    assert place.run("config", "set", "limits.max_steps", "20").code == 0
    assert "limits.max_steps     config.toml, line 2  20\n" in place.run("config", "show", "limits").out
    assert place.run("config", "unset", "limits.max_steps").code == 0
    assert (place.home / "config.toml").read_text() == ""
    assert place.run("config", "unset", "limits.max_steps").code == 2


def test_a_wrong_setting_is_refused_with_what_was_meant(place: Place) -> None:
    ended = place.run("config", "set", "limits.max_step", "20")
    assert ended.code == 2
    assert "Did you mean limits.max_steps?" in ended.err
    assert not (place.home / "config.toml").exists()


def test_a_number_below_zero_is_a_value(place: Place) -> None:
    assert place.run("config", "set", "limits.patience", "-1").code == 0
    assert (place.home / "config.toml").read_text() == "[limits]\npatience = -1\n"
    assert place.run("config", "set", "limits.max_steps", "-1", "--sett").code == 2


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("nonsense", ("model, fallback", "limits", "sandbox", "policy")),
        ("limits.nonsense", ("max_steps", "patience")),
        ("vendors.mine.url", ("wire", "base_url")),
    ],
)
def test_beside_a_setting_that_does_not_exist_stands_what_does(place: Place, key: str, said: tuple[str, ...]) -> None:
    ended = place.run("config", "set", key, "1")
    assert all(one in ended.err for one in said), ended.err
    assert "Did you mean" not in ended.err


def test_an_editor_that_is_not_there_is_said(place: Place) -> None:
    ended = place.run("config", "edit", EDITOR="no-such-editor", VISUAL="")
    assert ended.code == 2
    assert ended.err.startswith("angelia: The editor could not be used: no-such-editor")
    assert ended.err.endswith("such as EDITOR=nano.\n")


def edited(place: Place, tmp_path: Path, text: str) -> tuple[int, str]:
    editor = tmp_path / "editor.sh"
    editor.write_text(f"#!/bin/sh\ncat > \"$1\" <<'END'\n{text}\nEND\n")
    editor.chmod(0o700)
    ended = place.run("config", "edit", EDITOR=shlex.quote(str(editor)))
    return ended.code, ended.out + ended.err


def test_what_an_editor_left_is_put_in_place_only_if_it_is_right(place: Place, tmp_path: Path) -> None:
    assert edited(place, tmp_path, "effort = 'low'")[0] == 0
    code, said = edited(place, tmp_path, "effort = 'lo'\nmodl = 'x'")
    assert code == 2
    assert "line 1, effort" in said
    assert "Did you mean model?" in said
    assert [one.name for one in place.home.iterdir()] == ["config.toml"]
    assert (place.home / "config.toml").read_text() == "effort = 'low'\n"


@pytest.mark.parametrize("typed", [("--sandbox", "local"), ("--continue",), ("-C", "."), ("--set", "effort=low")])
def test_options_without_a_command_are_those_of_a_conversation(place: Place, typed: tuple[str, ...]) -> None:
    ended = place.run(*typed)
    assert ended.code == 2
    assert "A conversation needs a terminal" in ended.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--continu",), "Did you mean '--continue'?"),
        (("chanels",), "Did you mean 'channels'?"),
        (("config", "ste"), "'set'"),
        (("what is in this folder",), "angelia ask 'what is in this folder'"),
        (("what", "is", "in", "here"), "angelia ask 'what is in here'"),
        (("chanels", "add", "telegram"), "No such command 'chanels'. Did you mean 'channels'?"),
    ],
)
def test_a_mistyped_command_is_answered_with_what_was_meant(place: Place, typed: tuple[str, ...], said: str) -> None:
    ended = place.run(*typed)
    assert ended.code == 2
    assert said in ended.err
