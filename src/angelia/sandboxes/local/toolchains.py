"""Which folders outside the system a person's PATH needs, so that their tools run where the home is hidden."""

import os
from collections.abc import Iterator
from pathlib import Path

from angelia.sandboxes.local.confinement import Share

SYSTEM = tuple(Path(path) for path in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"))
"""Read-only in every confinement, as is /etc."""

_HOLDERS = frozenset({"bin", "sbin", "shims", "scripts", "condabin"})
"""A PATH folder of such a name is part of something larger: `~/.cargo/bin` is of no use without `~/.cargo/registry`."""

_PARTS = (
    *("bin", "sbin", "shims", "scripts", "condabin", "lib", "lib32", "lib64", "libexec", "include", "share"),
    *("pyvenv.cfg", "release", "VERSION", "version"),  # of a virtual environment, a JDK, Go and pyenv
    *("conf", "jmods", "legal"),  # a JDK
    *("pkg", "src", "misc", "go.env"),  # Go, and its module cache
    *(
        "versions",
        "plugins",
        "completions",
        "installs",
        "tools",
        "candidates",
    ),  # pyenv, nvm, rbenv, asdf, volta, sdkman
    *("registry", "git"),  # cargo
    *("pyenv.d", "rbenv.d", "nodenv.d", "perls"),
    *("envs", "pkgs", "ssl", "compiler_compat", "conda-meta", "x86_64-conda-linux-gnu", "aarch64-conda-linux-gnu"),
    *("gems", "specifications", "extensions", "build_info"),  # gem
    *("Cellar", "Caskroom", "Homebrew", "opt"),  # Homebrew beneath a home
    *("store", "packages", "ghc", "cabal", "hls", "stack"),  # ghcup, cabal, krew
    *("install", "platform", "sdk", "shared", "host", "toolchains", "node_modules"),  # bun, gcloud, dotnet, npm
)
"""What of something larger is shared, where it lies beneath the home: programs and what they are made of, and no other
file. `~/.fly/config.yml` and `~/.pulumi/credentials.json` lie beside their programs; what is not named here stays out.
"""

_WHOLE = frozenset({"vendor"})
"""Something larger that is nothing but packages: Composer's, whose programs lie in `vendor/bin`."""

_COMPANIONS = {
    ".cargo": (".rustup/toolchains", ".rustup/settings.toml"),
    ".local": (
        *(".local/lib", ".local/pipx/venvs", ".local/pipx/shared", ".local/share/pipx"),
        *(".local/share/uv/python", ".local/share/uv/tools", ".local/share/pypoetry/venv"),
        *(".local/share/mise/installs", ".local/share/mise/shims", ".local/share/fnm/node-versions"),
    ),
}
"""What else a toolchain beneath the home lives from."""

_INTERPRETERS = ("python", "python3", "node", "ruby")
"""Often links out of a virtual environment into a toolchain somewhere else."""

_MOST_LINKS = 40
"""As many as Linux follows (path_resolution(7))."""


def tool_roots(path: str, home: Path, workspace: Path) -> tuple[Path, ...]:
    """The folders, and files, to share read-only, outermost first, none within another; `path` is the person's PATH.

    Never the home itself or anything that contains it, nothing of the system (visible anyway), nothing within the
    workspace (visible anyway) and nothing below /mnt (the other system's PATH in WSL). A folder that may not be
    entered is none.
    """
    folders = {*_folders(path), workspace / ".venv/bin", workspace / "venv/bin"}
    programs = [f"{str(folder).rstrip('/')}/{program}" for folder in folders for program in _INTERPRETERS]
    linked = {step.parent for program in programs for step in _links(program)}
    wanted = {root for folder in folders | linked for root in _roots_of(folder, home)}
    there = [Path(root) for root in wanted if os.path.exists(root)]  # noqa: PTH110 - never raises
    shown = [root for root in there if not _visible(root, workspace)]
    shown.sort(key=lambda root: (len(root.parts), root))
    texts = [f"{root}/" for root in shown]
    return tuple(root for at, root in enumerate(shown) if not texts[at].startswith(tuple(texts[:at])))


def inner_path(path: str, tools: tuple[Path, ...], shares: tuple[Share, ...], workspace: Path) -> str:
    """The PATH of a confined command: of the person's own folders those it can see, then the system's."""
    seen = (*tools, *(share.path for share in shares), *SYSTEM, workspace)
    kept = [str(folder) for folder in _folders(path) if _within(folder, seen)]
    return os.pathsep.join(dict.fromkeys([*kept, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]))


def enterable(path: str) -> str:
    """A PATH without the folders that may not be entered: nothing can be found there, and a shell that comes past them
    says of a missing program that it is forbidden.
    """
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if _may_enter(folder))


def _may_enter(folder: str) -> bool:
    try:
        Path(folder, ".").stat()
    except PermissionError:
        return False
    except OSError:  # it is not there, yet
        return True
    return os.access(folder or ".", os.X_OK)


def _folders(path: str) -> list[Path]:
    return [Path(folder) for folder in path.split(os.pathsep) if folder.startswith("/")]


def _links(at: str) -> Iterator[Path]:
    """Every place that the link at `at` leads through, to its end: each of them must be there inside too."""
    if not os.path.islink(at):  # noqa: PTH114 - never raises, as for a folder that may not be entered
        return
    path = Path(at)
    for _ in range(_MOST_LINKS):
        try:
            target = os.readlink(path)  # noqa: PTH115 - joined to its folder, as the system does
        except OSError:
            break  # no link, not there, or not for us
        path = Path(os.path.normpath(path.parent / target))
        yield path
    yield Path(os.path.realpath(path))  # its folders may be links too


def _roots_of(folder: Path, home: Path) -> Iterator[str]:
    """As plain text: there are hundreds, and most of them are nowhere."""
    parent = folder.parent
    if folder.name not in _HOLDERS or parent == home / ".local" or home.is_relative_to(parent):
        if not home.is_relative_to(folder):
            yield str(folder)
    elif parent.is_relative_to(home) and home != Path("/") and parent.name not in _WHOLE:
        yield str(folder)
        yield from (f"{parent}/{part}" for part in _PARTS)
    else:
        yield str(parent)
    for toolchain, sidecars in _COMPANIONS.items():
        if folder.is_relative_to(home / toolchain):
            yield from (str(home / sidecar) for sidecar in sidecars)


def _visible(root: Path, workspace: Path) -> bool:
    return _within(root, (*SYSTEM, Path("/etc"), Path("/mnt"), workspace))


def _within(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a path leads to one of the roots or beneath it."""
    real = f"{os.path.realpath(path)}/"
    return any(real.startswith(f"{str(root).rstrip('/')}/") for root in roots)
