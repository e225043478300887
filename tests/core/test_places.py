"""One list of secret places and one of start-up files: the classifier, the tools and the mounts agree on each."""

from pathlib import Path

import pytest

from angelia.core.secret_places import SECRET_EVERYWHERE, SECRET_PLACES
from angelia.core.startup_files import STARTUP_EVERYWHERE, STARTUP_FILES, STARTUP_OF_THE_SYSTEM
from angelia.policy.paths import may_read, may_send, may_write
from angelia.policy.secret_paths import decides_what_runs, secret_kind, seen_from_home
from angelia.policy.shell.classifier import classify
from angelia.policy.shell.risk import CommandContext, Risk
from angelia.policy.situation import Situation
from angelia.policy.verdict import Allow, Deny
from angelia.sandboxes.local.secret_places import secret_places
from angelia.sandboxes.local.startup_guard import startup_targets

HOMES = ("/home/ann", "/root", "/Users/ann", "/srv/people/ann")


@pytest.mark.parametrize("place", SECRET_PLACES)
def test_a_secret_place_is_one_to_classifier_tools_and_mounts(place: str) -> None:
    for home in HOMES:
        assert secret_kind(seen_from_home(f"{home}/{place}", home)), home
        assert secret_kind(seen_from_home(f"{home}/{place}/within", home)), home
    found = classify(f"cat '/srv/people/ann/{place}/x'", CommandContext("/srv/people/ann/work", "/srv/people/ann"))
    assert any(finding.risk is Risk.SECRETS for finding in found)
    assert Path("/srv/people/ann", place) in secret_places(Path("/srv/people/ann"))


@pytest.mark.parametrize("place", [place for place in SECRET_EVERYWHERE if place != ".ssh"])
def test_what_counts_everywhere_is_not_sent_from_a_workspace(place: str) -> None:
    situation = Situation("/w", "/home/ann", "/home/ann/.angelia")
    assert isinstance(may_send(place, f"/w/{place}", situation), Deny)
    assert not isinstance(may_read(place, f"/w/{place}", situation), Allow)


@pytest.mark.parametrize("name", STARTUP_FILES)
def test_a_start_up_file_is_one_to_classifier_tools_and_mounts(name: str, tmp_path: Path) -> None:
    for home in HOMES:
        assert decides_what_runs(seen_from_home(f"{home}/{name}", home)), home
    found = classify(f"echo x >> '/srv/people/ann/{name}'", CommandContext("/srv/people/ann/work", "/srv/people/ann"))
    assert any(finding.risk in {Risk.PERSISTS, Risk.OURS} for finding in found)
    (tmp_path / "home" / name).parent.mkdir(parents=True)
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/it").touch()
    (tmp_path / "home" / name).symlink_to(tmp_path / "dotfiles/it")
    assert startup_targets(tmp_path / "home", tmp_path / "dotfiles") == (tmp_path / "dotfiles/it",)


def test_start_up_files_are_written_by_no_tool_and_a_projects_own_are() -> None:
    situation = Situation("/w", "/home/ann", "/home/ann/.angelia")
    for name in STARTUP_EVERYWHERE:
        assert isinstance(may_write(name, f"/w/{name}", situation), Deny), name
    for name in (".vscode/settings.json", "bin/run", ".claude/commands/x.md", "README.md"):
        assert isinstance(may_write(name, f"/w/{name}", situation), Allow), name


@pytest.mark.parametrize("beginning", STARTUP_OF_THE_SYSTEM)
def test_start_up_files_of_the_system_are_known(beginning: str) -> None:
    assert decides_what_runs(f"{beginning}/x")
