"""A `.env` is harmless if a shell that sources it only assigns; a shell of this machine is asked, too."""

import subprocess
from pathlib import Path

import pytest

from angelia.sandboxes.guard.dotenv import dotenv_risks
from angelia.sandboxes.guard.editor_settings import settings_risks

HARMLESS = [
    "A=1",
    "A=1\nexport B='x y'  # C\n\n# D\nexport E F=2\n",
    'A="x ${B} $C \\" y"\r\nD=a\\ b\r\n',
    "U=postgres://u:p@h:1/d?a=1&b=2#x\nC=#fff\n",
    "K='-----BEGIN\nabc==\n'\n",
    "A=\nB=;C=3",
]
RISKY = [
    "{}",
    "A=1; {}",
    "A=1 {}",
    "A=$({})",
    "A=`{}`",
    'A="$({})"',
    "A=1 && {}",
    "A=1 || {}\nfalse || {}",
    "A=1 | {}",
    "A=1\n\n  {} # B=2",
    "A='x'\\''y'$({})",
    "A=1 #x\n{}",
    "f() {{ {}; }}; f",
    "A=<({})",
    'A="x\n$({})"',
    "export A=$({})",
    "{} = x",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_assigns_literal_words_is_no_risk(text: str, tmp_path: Path) -> None:
    assert dotenv_risks(text) == frozenset()
    assert _sourced(text.replace("\r", ""), tmp_path) == ""


@pytest.mark.parametrize("text", RISKY)
def test_what_runs_something_is_a_risk(text: str, tmp_path: Path) -> None:
    """That it does run is shown by a shell, so that this is no list of what nobody would do."""
    line = text.format(*["touch ran"] * text.count("{}"))
    assert dotenv_risks(line)
    _sourced(line, tmp_path)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "GIT_PAGER", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "HOME"])
def test_what_steers_programs_is_a_risk_however_it_is_assigned(name: str) -> None:
    for text in (f"{name}=x", f"A=1\nexport B=2 {name}='x'", f"A=1&{name}=x", f'"{name}"=x'):
        assert dotenv_risks(text), text
    assert dotenv_risks(f"MY_{name}_2=x") == frozenset()


def test_a_risk_that_stood_is_known_again_and_one_after_it_is_not() -> None:
    before = dotenv_risks("PATH=a\n")
    assert dotenv_risks("B=1\nPATH=a\n") == before
    assert not dotenv_risks("PATH=a\nPATH=b\n") <= before
    assert not dotenv_risks("id\nA=2\n") <= dotenv_risks("id\nA=1\n"), "what follows may mean something else"


@pytest.mark.parametrize(
    ("text", "risks"),
    [
        ('{"a": {"b": [1, {"command": "x"}]}}', 1),
        ('{"a": 1, "\\u0063ommand": "x"}', 1),
        ('{"command": "x", "command": "y"}', 2),
        ('/* { */ {"a": "//", "hooks": {"x": [{"command": "y"}]},}', 1),
        ('{"editor.tabSize": 2, "files.exclude": {"*.pyc": true}}', 0),
        ("", 0),
    ],
)
def test_entries_of_settings_that_name_programs_are_risks(text: str, risks: int) -> None:
    assert len(settings_risks(text, toml=False) or ()) == risks


@pytest.mark.parametrize("text", ['{"a": 1', "[" * 100_000, "evil"])
def test_what_cannot_be_read_is_not_held_for_harmless(text: str) -> None:
    assert settings_risks(text, toml=False) is None


def _sourced(text: str, folder: Path) -> str:
    (folder / ".env").write_text(text)
    done = subprocess.run(
        ["/bin/bash", "-c", "set -a; . ./.env"], cwd=folder, capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout + done.stderr
