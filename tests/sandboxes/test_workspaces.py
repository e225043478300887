"""Which folders no conversation works in."""

from pathlib import Path

import pytest

from angelia.sandboxes.port import AccessRefused
from angelia.sandboxes.registry import fit_workspace
from angelia.sandboxes.workspace import unfit, work_folder

REFUSED = (
    *("", "..", "../..", "/", "/home", "/etc", "/etc/cron.d", "/proc/self"),
    *(
        ".ssh",
        ".config",
        ".config/systemd/user",
        ".local",
        ".local/share/x",
        ".claude/skills",
        ".dotfiles",
    ),
    *(".angelia", ".angelia/blobs", ".angelia/outbox", ".angelia/work"),
    *("holds-own", "linked-home", "linked-config", "project/../.config"),
)
TAKEN = ("project", "project/.config", "project/.hidden/x", "bin", "../elsewhere", "../elsewhere/.dot", "Angelia")
"""As seen from the home."""


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with all of these."""
    home = tmp_path / "people/ann"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (home / "linked-home").symlink_to(home)
    (home / ".config").mkdir()
    (home / "linked-config").symlink_to(".config")
    for folder in (*REFUSED, *TAKEN):
        if not folder.startswith("/"):
            (home / folder).mkdir(parents=True, exist_ok=True)
    return home


@pytest.mark.parametrize("folder", REFUSED)
def test_no_conversation_works_in_a_home_or_what_configures_programs_or_our_records(person: Path, folder: str) -> None:
    own = person / ("holds-own/angelia" if folder == "holds-own" else ".angelia")
    assert unfit(person / folder, own), folder
    with pytest.raises(AccessRefused, match="cannot be a workspace") as error:
        fit_workspace("docker:python", person / folder, own)
    assert error.value.then


@pytest.mark.parametrize("folder", TAKEN)
def test_a_folder_of_a_project_is_taken(person: Path, folder: str) -> None:
    assert unfit(person / folder, person / ".angelia") == ""


def test_chats_work_beside_our_own_home_although_that_is_a_dot_folder(person: Path) -> None:
    own = person / ".angelia"
    assert unfit(work_folder(own) / "telegram/1", own) == ""
    assert unfit(work_folder(own) / "telegram/1", person / ".other")


def test_an_account_without_a_home_works_anywhere_but_in_the_whole_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/")
    assert unfit(Path("/"), Path("/.angelia"))
    assert unfit(tmp_path, Path("/.angelia")) == ""


def test_a_folder_of_another_machine_is_not_ours_to_judge(person: Path) -> None:
    assert fit_workspace("ssh:box", person, person / ".angelia") == "~"
