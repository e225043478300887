"""Pure choices: which toolchains are shown, what may be written, what the profile for macOS says."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from angelia.sandboxes.local.confinement import ConfinedView, Share
from angelia.sandboxes.local.git_guard import guarded, refuse_git_internals, repositories
from angelia.sandboxes.local.seatbelt import profile
from angelia.sandboxes.local.toolchains import enterable, inner_path, tool_roots
from angelia.sandboxes.port import AccessRefused


@pytest.mark.parametrize(
    ("path", "roots"),
    [
        ("{home}/.cargo/bin", [".cargo/bin", ".cargo/registry", ".rustup/toolchains"]),
        ("{home}/.pyenv/shims:{home}/.pyenv/versions/3.11/bin", [".pyenv/shims", ".pyenv/versions"]),
        ("{home}/.local/bin", [".local/bin", ".local/lib", ".local/share/uv/python"]),
        ("{home}/.fly/bin:{home}/.pulumi/bin", [".fly/bin", ".pulumi/bin"]),
        ("{home}/.venvs/a/bin", [".venvs/a/bin", ".venvs/a/lib", ".venvs/a/pyvenv.cfg"]),
        ("{home}/.composer/vendor/bin", [".composer/vendor"]),
        ("{home}/bin", ["bin"]),
        ("{home}", []),
        ("/", []),
        ("/usr/bin:/bin:/mnt/c/Windows", []),
        ("relative/bin::.", []),
        ("{home}/missing/bin", []),
        ("{home}/work/node_modules/.bin", []),
    ],
)
def test_of_toolchains_programs_and_libraries_are_shown_and_the_home_never(
    path: str, roots: list[str], tmp_path: Path
) -> None:
    for folder in (
        *(
            ".cargo/bin",
            ".cargo/registry",
            ".rustup/toolchains",
            ".rustup/tmp",
            ".pyenv/shims",
            ".pyenv/versions/3.11/bin",
            ".local/bin",
            ".local/lib",
        ),
        *(".local/share/uv/python", ".local/share/uv/credentials", ".fly/bin", ".fly/agent", ".pulumi/bin"),
        *(
            ".pulumi/accounts",
            ".venvs/a/bin",
            ".venvs/a/lib",
            ".composer/vendor/bin",
            ".local/share/keyrings",
            "bin",
            "work/node_modules/.bin",
        ),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for file in (".venvs/a/pyvenv.cfg", ".fly/config.yml", ".pulumi/credentials.json", ".cargo/config.toml"):
        (tmp_path / file).touch()
    found = tool_roots(path.format(home=tmp_path), tmp_path, tmp_path / "work")
    assert {str(root.relative_to(tmp_path)) for root in found} == set(roots)


def test_the_interpreter_behind_a_virtual_environment_is_shown(tmp_path: Path) -> None:
    for folder in ("pythons/3.13/bin", "work/.venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pythons/3.13/bin/python3").touch()
    (tmp_path / "work/.venv/bin/python3").symlink_to(tmp_path / "pythons/3.13/bin/python3")
    assert tool_roots("", tmp_path / "home", tmp_path / "work") == (tmp_path / "pythons/3.13",)


def test_every_link_between_an_environment_and_its_interpreter_leads_somewhere_inside(tmp_path: Path) -> None:
    pythons, home = tmp_path / "home/.pythons", tmp_path / "home"
    for folder in (pythons / "3.13.1/bin", pythons / "3.13.1/lib", tmp_path / "work/.venv/bin"):
        folder.mkdir(parents=True)
    (pythons / "3.13.1/bin/python3.13").touch()
    (pythons / "3.13").symlink_to("3.13.1")  # as uv does
    (tmp_path / "work/.venv/bin/python").symlink_to(pythons / "3.13/bin/python3.13")
    shown = tool_roots("", home, tmp_path / "work")
    assert set(shown) == {pythons / folder for folder in ("3.13/bin", "3.13/lib", "3.13.1/bin", "3.13.1/lib")}


def test_a_folder_on_the_path_that_cannot_be_looked_at_is_passed_over(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    (tmp_path / "bin").mkdir()
    path = f"{tmp_path}/{'x' * 300}/bin:{closed}/bin:{closed}:{tmp_path}/bin"
    assert tmp_path / "bin" in tool_roots(path, tmp_path, tmp_path / "work")
    assert f"{tmp_path}/bin" in inner_path(path, (tmp_path / "bin",), (), tmp_path / "work").split(":")


def test_the_inner_path_names_only_what_is_seen(tmp_path: Path) -> None:
    shares = (Share(tmp_path / "shared"),)
    path = f"{tmp_path}/tools/bin:{tmp_path}/hidden/bin:/usr/bin:{tmp_path}/shared/bin"
    inner = inner_path(path, (tmp_path / "tools",), shares, tmp_path / "work")
    kept = [f"{tmp_path}/tools/bin", "/usr/bin", f"{tmp_path}/shared/bin"]
    assert inner.split(":") == [*kept, "/usr/local/bin", "/bin", "/usr/sbin", "/sbin"]


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        ((".git", "config"), True),
        (("deep", "down", ".git", "hooks", "x"), True),
        ((".Git", "HOOKS", "x"), True),
        ((".git", "config.worktree"), True),
        ((".git", "commondir"), True),
        ((".git", "info", "exclude"), False),
        ((".git", "info", "attributes"), True),
        ((".git", "modules", "a", "modules", "b", "config"), True),
        ((".git", "worktrees", "w", "commondir"), True),
        (("a", ".git"), True),
        (("hooks", "x"), False),
        (("git", "config"), False),
    ],
)
def test_only_what_makes_git_run_programs_is_guarded(names: tuple[str, ...], refused: bool) -> None:
    if refused:
        with pytest.raises(AccessRefused):
            refuse_git_internals(names, "/".join(names))
    else:
        refuse_git_internals(names, "/".join(names))


def test_repositories_are_found_near_the_top_and_few(tmp_path: Path) -> None:
    for n in range(12):
        (tmp_path / f"group/r{n}/.git").mkdir(parents=True)
    (tmp_path / "one/two/three/.git").mkdir(parents=True)
    (tmp_path / "node_modules/x/.git").mkdir(parents=True)
    found = repositories(tmp_path)
    assert len(found) == 8
    assert all(place.parent == tmp_path / "group" for place in found)


def test_what_nobody_may_look_into_counts_as_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for an ordinary user, whom a closed folder or a link into another's process refuses."""
    (tmp_path / "closed/.git").mkdir(parents=True)
    (tmp_path / "open/.git").mkdir(parents=True)
    real = os.stat

    def stat(path: Any, *rest: Any, **more: Any) -> os.stat_result:
        if "closed/.git" in os.fspath(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "stat", stat)
    assert repositories(tmp_path) == (tmp_path / "open",)
    assert not list(guarded([tmp_path / "closed"]))


def test_the_profile_for_macos_denies_first_and_hides_last(tmp_path: Path) -> None:
    view = ConfinedView(
        workspace=Path('/Users/me/a "b"'),
        home=Path("/Users/me"),
        private_home=Path("/Users/me/.own/home"),
        private_tmp=Path("/Users/me/.own/tmp"),
        hidden=(Path("/Users/me/.ssh"),),
    )
    lines = profile(view, proxy=0).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert lines[-1] == "(deny network*)"
    assert lines[-2] == '(deny file-read* file-write* (subpath "/Users/me/.ssh"))'
    writes = [line for line in lines if line.startswith("(allow file-write* ")]
    own = '(subpath "/Users/me/.own/home") (subpath "/Users/me/.own/tmp")'
    assert writes == [f'(allow file-write* (subpath "/Users/me/a \\"b\\"") {own})']
    assert '(subpath "/Users/me/a \\"b\\"/.git/hooks")' in lines[-3]
    proxied = profile(view, proxy=3128).splitlines()
    assert proxied[-2:] == ["(deny network*)", '(allow network-outbound (remote ip "localhost:3128"))']
    assert "(allow network*)" not in proxied


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_a_folder_that_may_not_be_entered_is_no_part_of_the_path(tmp_path: Path) -> None:
    for folder in ("locked/inner", "open"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "locked").chmod(0)
    path = f"{tmp_path}/locked:{tmp_path}/locked/inner:{tmp_path}/open:{tmp_path}/none:"
    try:
        assert enterable(path) == f"{tmp_path}/open:{tmp_path}/none:"
        assert tool_roots(path, tmp_path / "home", tmp_path / "work") is not None
    finally:
        (tmp_path / "locked").chmod(0o700)
