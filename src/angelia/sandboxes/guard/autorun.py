"""Files that programs outside run by themselves once somebody enters or opens their folder, and what each may say.

Git obeys the programs in its settings and runs its hooks at the next `git status` (git-config(1), githooks(5)); other
version control, shells' per-folder files (direnv, mise), editors' tasks and virtual environments have the like. The
tables say by name what counts; `judge` says by content what of it is a risk.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path

from msgspec import Struct

from angelia.path_queries import UNKNOWN, real_path
from angelia.sandboxes.guard.editor_settings import holds_settings, settings_risks
from angelia.sandboxes.guard.git_config import GitConfigEntry, Unreadable, entries, is_harmless


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


class AutorunKind(StrEnum):
    """How the content of a file is judged."""

    CONFIG = "config"
    """Git's settings: entries that are not known to be harmless are risks."""
    POINTER = "pointer"
    """A `.git` file: a risk where it leads out of the workspace."""
    COMMONDIR = "commondir"
    """Of a linked work tree: a risk unless it names the repository that the work tree belongs to."""
    ATTRIBUTES = "attributes"
    """`info/attributes`: lines that name drivers are risks."""
    REMOTE = "remote"
    """The old form of a remote: a risk where it names a helper (`ext::…`)."""
    HOOK = "hook"
    """A risk if it can be executed and is no sample; if it was there before, in any form that differs."""
    SCRIPT = "script"
    """Any content is a risk."""
    PROGRAM = "program"
    """Named by settings that stand: any content is a risk."""
    HGRC = "hgrc"
    """Mercurial's settings: anything but addresses and a name is a risk."""
    LINK = "link"
    """A link to where only commands and we write, and nobody looks: a risk."""
    TODO = "todo"
    """What is left of a rebase: lines that run programs are risks."""
    STRATEGY = "strategy"
    """By which strategy an unfinished rebase or cherry-pick merges: a risk where Git has none of that name itself."""
    PIPE = "pipe"
    """A FIFO, socket or device at a name that is opened unasked: a risk, for whoever enters waits for ever."""
    VENV = "venv"
    """A program of a virtual environment, or of another folder that shells put on their path: see `judge`."""
    HOME = "home"
    """`pyvenv.cfg`: a risk where it names a Python in the workspace, whose library would be loaded."""
    DOTENV = "dotenv"
    """What shells source that enter the folder: anything but plain assignments is a risk."""
    SETTINGS = "settings"
    """Of an editor or agent: entries that name programs are risks."""
    TOLD = "told"
    """No risk by itself: people are told of it, and it stays."""


OF_GIT = {
    "config": AutorunKind.CONFIG,
    "config.worktree": AutorunKind.CONFIG,
    "commondir": AutorunKind.COMMONDIR,
    "info/attributes": AutorunKind.ATTRIBUTES,
    "rebase-merge/git-rebase-todo": AutorunKind.TODO,
    "rebase-merge/strategy": AutorunKind.STRATEGY,
    "sequencer/opts": AutorunKind.STRATEGY,
}
"""What counts in every repository of Git, beside its hooks and old remotes."""

_SCRIPTS = _names(
    """.envrc .autoenv .autoenv.leave .autoenv.zsh .autoenv_leave.zsh .exrc _exrc .vimrc _vimrc
    .gvimrc _gvimrc .nvimrc .nvim.lua .lvimrc .lazy.lua .rtx.toml
    .vscode/tasks.json .idea/watchertasks.xml .idea/startup.xml .helix/config.toml .helix/languages.toml
    .vim/coc-settings.json
    bin/hermit bin/hermit.hcl bin/activate-hermit bin/activate-hermit.fish env/manifest.toml
    .hg/sharedpath .jj/repo .jj/config.toml .jj/workspace-config.toml repo/config.toml prefs/defaults"""
)
_TOLD = _names(
    """.dir-locals.el .dir-locals-2.el .bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile
    .gdbinit .lldbinit .inputrc .irbrc .pryrc .tmux.conf .yarnrc .yarnrc.yml .pnpmfile.cjs .npmrc
    .tool-versions .pre-commit-config.yaml .pre-commit-config.yml lefthook.yml .lefthook.yml .gitattributes
    .devcontainer.json .rprofile .octaverc .ghci .pdbrc .latexmkrc latexmkrc .aider.conf.yml
    devbox.json devenv.nix devenv.yaml devenv.local.nix devenv.local.yaml flake.nix shell.nix pixi.toml
    jupyter_server_config.py jupyter_server_config.json jupyter_notebook_config.py jupyter_notebook_config.json
    jupyter_lab_config.py .cargo/config.toml .cargo/config"""
)
_HGRC = {".hg": ("hgrc", "hgrc-not-shared"), ".sl": ("config",), "sl": ("config",)}
"""Settings of Mercurial, and of Sapling, which has them in a folder of its own or in Git's."""
_MISE = r"(?:\A|/)(?:\.?mise(?:\.[\w-]+)*|\.?mise/(?:config[\w.-]*|conf\.d/[^/]+))\.toml\Z"
_CUSTOMIZES = ("sitecustomize", "usercustomize")
"""What Python imports when it starts, from wherever its path leads (site(3)): as a file of any kind, or a folder."""
SHELLS = frozenset(name for name in _SCRIPTS if name.startswith((".envrc", ".autoenv")))
"""Files of a shell's, which may read others."""
_CUSTOMIZING = tuple(f"{name}." for name in _CUSTOMIZES)
_LAST_OF = {".direnv": (".rc",), "site-packages": (".pth",), "dist-packages": (".pth",), "activate.d": ("",)}
"""How names end that count in a folder: environments read these when they begin, and packages bring them."""
HERMIT = "hermit.hcl"
"""Its folder is put on the path by shells that enter the folder above."""
_ALL_OF = {
    ".shadowenv.d": AutorunKind.SCRIPT,
    ".husky": AutorunKind.SCRIPT,
    ".githooks": AutorunKind.SCRIPT,
    ".git-hooks": AutorunKind.SCRIPT,
}
"""Folders of which every file counts, at any depth."""
_ALL_TOLD = frozenset(
    _names(
        """.vscode .idea .devcontainer .zed .fleet .cursor .claude .codex .gemini .opencode .helix .mvn .windsurf .kiro
        .qwen .factory .roo .continue .junie .amazonq .augment .trae"""
    )
)
"""Folders of which every file is told that lies in them or in a folder of theirs, if it is not on the lists above."""
_BARE = frozenset({"head", "objects", "refs", "commondir"})
_DEEPER = {"prefs": "/_darcs/prefs", "repo": "/.jj/repo", "env": "/.flox/env"}
"""Folders that have to lie in another one to count."""
VENV_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})
"""What an environment has: a file of Python's own, a folder of Conda's."""
MARKING_FOLDERS = frozenset({"objects", "refs", "conda-meta"})
"""Folders that say what the folder is in which they are."""
_VENVS = frozenset({".venv", "venv", "env"})
VENV_BINS = ("bin", "Scripts")

_LISTED = dict.fromkeys(_TOLD, AutorunKind.TOLD) | dict.fromkeys(_SCRIPTS, AutorunKind.SCRIPT)
_BY_CONTENT = {
    ".git": AutorunKind.POINTER,
    ".env": AutorunKind.DOTENV,
    ".env.leave": AutorunKind.DOTENV,
    "pyvenv.cfg": AutorunKind.HOME,
}
_FILES = {name: kind for name, kind in _LISTED.items() if "/" not in name} | _BY_CONTENT
_WITHIN = {tuple(name.split("/")): kind for name, kind in _LISTED.items() if "/" in name}
LINKS = frozenset({".git", ".hg", ".jj", ".idea", ".direnv", ".mise", ".flox", *_ALL_OF, *_ALL_TOLD, *_VENVS})
"""Names of folders in whose place a link is a risk: it may lead where nobody looks, and elsewhere tomorrow."""


class JudgedFile(Struct, frozen=True):
    """What a file holds. `risks` are compared with what stood before; a new one is taken back.

    `told` is whether people hear of a change. What is `fluid` depends on more than the file, and is judged anew.
    """

    identity: str
    risks: frozenset[str] = frozenset()
    told: bool = False
    fluid: bool = False


class AutorunFound(Struct, frozen=True):
    """What stood at a path: where a link points, or the bytes of a file; `executable` by anybody.

    Of one that is too large, `content` is not the `whole`.
    """

    path: str
    link: str = ""
    content: bytes = b""
    executable: bool = False
    whole: bool = True


def is_marked(folder: str, name: str, *, is_link: bool) -> bool:
    """Whether this entry, which is no folder, has to be remembered: it counts, or makes its folder count."""
    low = name.casefold()
    return low in _BARE or low in VENV_MARKS or (is_link and low in LINKS) or kind_of(folder, name) is not None


def is_opened(folder: str, name: str) -> bool:
    """Whether what has this name is opened unasked: by Git what is in a repository, and `.gitignore` and the like
    wherever they lie; by others what counts.
    """
    low = name.casefold()
    return low in _FILES or low.startswith(".git") or low == ".mailmap" or ".git" in folder.casefold().split("/")


def kind_of(folder: str, name: str) -> AutorunKind | None:
    """How a file of this name is judged, if it counts by its name; `folder` is a path from the workspace on."""
    low = name.casefold()
    if low in _FILES:
        return _FILES[low]
    above = os.path.basename(folder).casefold()  # noqa: PTH119 - asked for every name of every folder that moved
    if (above, low) in _WITHIN:
        return _WITHIN[above, low] if folder.casefold().endswith(_DEEPER.get(above, above)) else None
    if low.startswith(_CUSTOMIZING) or above in _CUSTOMIZES:
        return AutorunKind.SCRIPT
    if low in _HGRC.get(above, ()) and (above != "sl" or folder.casefold().endswith("/.git/sl")):
        return AutorunKind.HGRC
    if low.endswith(".toml") and re.search(_MISE, f"{folder.casefold()}/{low}"):
        return AutorunKind.SCRIPT
    if low.endswith(_LAST_OF.get(above, ())):
        return AutorunKind.SCRIPT if above == ".direnv" else AutorunKind.TOLD
    parts = folder.casefold().split("/") if "/." in folder else []
    if parts and (kind := _of_folders(parts, low)):
        return kind
    return AutorunKind.SETTINGS if holds_settings(not _ALL_TOLD.isdisjoint(parts[-2:]), low) else None


def _of_folders(parts: Sequence[str], low: str) -> AutorunKind | None:
    """By the folders on its way."""
    for whole, kind in _ALL_OF.items():
        if whole in parts:
            return kind
    if ".bzr" in parts and low.endswith(".conf"):
        return AutorunKind.SCRIPT
    of_editor = not _ALL_TOLD.isdisjoint(parts[-2:])
    return AutorunKind.TOLD if of_editor and not holds_settings(of_editor, low) else None


def looks_bare(names: Sequence[str]) -> bool:
    """Whether Git would take a folder with these entries for a repository (`is_git_directory` in its setup.c)."""
    low = {name.casefold() for name in names}
    return "head" in low and ({"objects", "refs"} <= low or "commondir" in low)


def is_venv(folder: str, names: Sequence[str]) -> bool:
    """Whether editors and people take this folder for a virtual environment."""
    return not VENV_MARKS.isdisjoint(names) or os.path.basename(folder) in _VENVS  # noqa: PTH119


def judge(kind: AutorunKind, found: AutorunFound, workspace: str) -> JudgedFile:
    """What it says and risks, as of now."""
    if found.link and kind is not AutorunKind.VENV:
        told = kind is AutorunKind.TOLD
        identity = f"-> {found.link}"
        return JudgedFile(identity, frozenset() if told else frozenset({identity}), told)
    identity = f"{hashlib.sha256(found.content).hexdigest()}{' x' if found.executable else ''}"
    if not found.whole and kind is not AutorunKind.TOLD:
        return JudgedFile(identity, frozenset({identity}))
    return _by_content(kind, found, identity, workspace)


def _by_content(kind: AutorunKind, found: AutorunFound, identity: str, workspace: str) -> JudgedFile:
    text = found.content.decode("utf-8", "surrogateescape")
    match kind:
        case AutorunKind.CONFIG:
            return _config(identity, text, found.path, workspace)
        case AutorunKind.POINTER:
            target = text.removeprefix("gitdir:").strip()
            risk = _leads_out(os.path.join(os.path.dirname(found.path), target), workspace)  # noqa: PTH118, PTH120
            return JudgedFile(identity, risk, fluid=True)
        case AutorunKind.COMMONDIR:
            return JudgedFile(identity, _commondir(text, found.path), fluid=True)
        case AutorunKind.ATTRIBUTES | AutorunKind.HGRC | AutorunKind.TODO | AutorunKind.DOTENV | AutorunKind.REMOTE:
            return JudgedFile(identity, frozenset(_LINES[kind](text)))
        case AutorunKind.STRATEGY:
            return JudgedFile(identity, _strategies(text, found.path))
        case AutorunKind.HOOK:
            quiet = not found.executable or found.path.endswith((".sample", ".tmpl"))
            return JudgedFile(identity, frozenset() if quiet else frozenset({identity}))
        case AutorunKind.VENV:
            return _venv_program(identity, text, found, workspace)
        case AutorunKind.HOME:
            return JudgedFile(identity, _python_home(text, workspace), fluid=True)
        case AutorunKind.SETTINGS:
            risks = settings_risks(text, toml=found.path.casefold().endswith(".toml"))
            unread = frozenset({f"what nobody can read ({identity})"})
            return JudgedFile(identity, unread if risks is None else risks, told=True)
        case AutorunKind.TOLD | AutorunKind.PIPE:  # or a file again
            return JudgedFile(identity, told=kind is AutorunKind.TOLD and _worth_telling(found.path, text))
        case AutorunKind.SCRIPT | AutorunKind.PROGRAM | AutorunKind.LINK:
            return JudgedFile(identity, frozenset({identity}))


def is_within(path: str, workspace: str) -> bool:
    """Whether a path, links on it followed as they are now, lies in the workspace."""
    return f"{real_path(path)}/".startswith(f"{workspace}/")


def _leads_out(path: str, workspace: str) -> frozenset[str]:
    return frozenset() if is_within(path, workspace) else frozenset({f"leads to {real_path(path)}"})


def _config(identity: str, text: str, path: str, workspace: str) -> JudgedFile:
    try:
        found = list(entries(text))
    except Unreadable:
        return JudgedFile(identity, frozenset({f"unreadable {identity}"}))
    risks: set[str] = set()
    fluid = False
    for entry in found:
        if (entry.section, entry.sub, entry.name) == ("core", "", "worktree"):
            fluid = True
            risks |= _leads_out(os.path.join(os.path.dirname(path), entry.value), workspace)  # noqa: PTH118, PTH120
        elif not is_harmless(entry):
            risks.add(said(entry))
    return JudgedFile(identity, frozenset(risks), fluid=fluid)


def said(entry: GitConfigEntry) -> str:
    """An entry as a risk."""
    return f"{entry.key} = {entry.value}"


def _commondir(text: str, path: str) -> frozenset[str]:
    """`REPOSITORY/worktrees/NAME/commondir` may name REPOSITORY, which is judged itself."""
    private = Path(path).parent
    named = real_path(private / text.strip())
    fits = private.parent.name == "worktrees" and named == real_path(private.parent.parent)
    return frozenset() if fits else frozenset({f"leads to {named}"})


_TODO_RUNS = r"(?m)^[ \t]*(?:exec|x)[ \t].*$"
"""git-rebase(1), "exec"."""

_STRATEGIES = frozenset(_names("octopus ort ours recursive resolve subtree"))
"""Those that Git has itself (git-merge(1)); for another one it runs `git-merge-NAME`, a path if NAME holds a slash."""


def _strategies(text: str, path: str) -> frozenset[str]:
    named = [text.strip()]
    if path.endswith("/opts"):
        try:
            named = [entry.value for entry in entries(text) if entry.key.casefold() == "options.strategy"]
        except Unreadable:
            return frozenset({"unreadable"})
    return frozenset(f"strategy {name}" for name in named if name not in _STRATEGIES)


def _python_home(text: str, workspace: str) -> frozenset[str]:
    """Python takes its library from beside the last `home` (site(3), "pyvenv.cfg")."""
    named = re.findall(r"(?im)^[ \t]*home[ \t]*=[ \t]*(.*?)[ \t\r]*$", text)
    inside = [home for home in named if not home.startswith("/") or is_within(home, workspace)]
    return frozenset(f"home = {home}" for home in [*inside, *(one for one in named if _is_hidden(one))])


def _is_hidden(path: str) -> bool:
    return f"{real_path(path)}/".startswith(f"{UNKNOWN}/")


_BUILT_IN = _names(
    """ada bash bibtex cpp csharp css dts elixir fortran fountain golang html ini java kotlin markdown matlab objc
    pascal perl php python ruby rust scheme tex text union binary"""
)
"""Drivers that Git has itself (gitattributes(5))."""


def drivers(text: str) -> set[str]:
    """Lines that name a driver which only settings can define."""
    found = re.finditer(r"^.*?[ \t](?:filter|diff|merge)=([^\s]+).*$", text, re.MULTILINE)
    return {match[0] for match in found if match[1] not in _BUILT_IN}


def _hg_risks(text: str) -> set[str]:
    risks, section = set(), ""
    for line in text.splitlines():
        bare = line.strip()
        if header := re.match(r"\[([^\[]+)\]", bare):
            section = header[1].strip()
        elif bare and bare[0] not in "#;" and not _hg_harmless(section, line):
            risks.add(f"{section}: {bare}")
    return risks


def _hg_harmless(section: str, line: str) -> bool:
    """An address or a name; a line that begins with a blank goes on with the one before."""
    allowed = {"paths": r"[\w.-]+\s*=\s*(https?://\S*|ssh://(?!-)\S*|/\S*)\s*\Z", "ui": r"username\s*="}
    return section in allowed and re.match(allowed[section], line) is not None


def _dotenv_risks(text: str) -> Iterable[str]:
    from angelia.sandboxes.guard.dotenv import dotenv_risks

    return dotenv_risks(text)


_LINES: Mapping[AutorunKind, Callable[[str], Iterable[str]]] = {
    AutorunKind.ATTRIBUTES: drivers,
    AutorunKind.HGRC: _hg_risks,
    AutorunKind.TODO: partial(re.findall, _TODO_RUNS),
    AutorunKind.DOTENV: _dotenv_risks,
    AutorunKind.REMOTE: partial(re.findall, r".*::.*"),
}
"""Which lines of a file are risks."""

_LAUNCHER = (
    r"#!(/\S+/python[\d.]*)\n(?:# -\*- coding: utf-8 -\*-\n)?(?:import re\n)?import sys\n(?:import re\n)?"
    r"from [\w.]+ import \w+\n+if __name__ == ['\"]__main__['\"]:\n[^;]{0,400}sys\.exit\([\w.]+\(\)\)\n?\Z"
)
"""How pip and uv start a package's command."""
NEW_VENV = "activate "
"""How a risk begins that may stand where the whole environment is new."""
_GUARDED_IN_VENV = r"(?i)(python[\d.w]*|activate\w*(\.\w+)?|deactivate\S*|pydoc\S*)(\.exe)?\Z"
_SYSTEM = ("/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin")


def _venv_program(identity: str, text: str, found: AutorunFound, workspace: str) -> JudgedFile:
    """Risks are links that stay in the workspace, changed interpreters and `activate`, and names of the system's.

    An interpreter or `activate` that is new with its environment stands (`python -m venv`), and is told: the caller
    knows what was there before. Other commands that packages bring are told, unless pip or uv wrote them.
    """
    name = os.path.basename(found.path)  # noqa: PTH119
    own = bool(re.match(_GUARDED_IN_VENV, name))
    if found.link:
        where = os.path.join(os.path.dirname(found.path), found.link)  # noqa: PTH118, PTH120
        fine = own and not is_within(where, workspace)
        identity = f"-> {found.link}"
        return JudgedFile(identity, frozenset() if fine else frozenset({identity}), fluid=True)
    if own:
        python = name.lower().startswith("python")
        return JudgedFile(identity, frozenset({identity if python else f"{NEW_VENV}{identity}"}))
    launcher = re.match(_LAUNCHER, text) is not None
    shadows = any(os.path.exists(f"{place}/{name}") for place in (_SYSTEM[:2] if launcher else _SYSTEM))  # noqa: PTH110
    if shadows and not (launcher and re.match(r"pip[\d.]*\Z", name)):
        return JudgedFile(identity, frozenset({identity}) if found.executable else frozenset())
    return JudgedFile(identity, told=found.executable and not launcher)


def _worth_telling(path: str, text: str) -> bool:
    """Some files are everyday, and matter for some words in them only."""
    match os.path.basename(path).casefold():  # noqa: PTH119
        case ".gitattributes":
            return bool(drivers(text))
        case ".npmrc":
            return bool(
                re.search(r"(?im)^\s*(script-shell|shell|node-options|git|onload-script|init-module)\s*=", text)
            )
        case "pixi.toml":
            return "activation" in text
        case name if name.endswith(".pth"):
            return re.search(r"(?m)^import[ \t]", text) is not None
        case ".tool-versions":
            return "path:" in text or "ref:" in text
        case _:
            return True
