"""What a person's programs do once a command has ended: a prompt that asks Git, a shell, editors, an environment.

Git and bash are real, and so is Vim where there is one. What is not at hand everywhere (direnv, mise, the tasks of VS
Code and IDEA, Neovim, Mercurial) is played: each runs what its program would run unasked, from the files that it reads.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .conftest import Person

BASHRC = """
export PROMPT_COMMAND='git status > /dev/null 2>&1'
for file in .envrc .autoenv .autoenv.zsh .direnv/*.rc bin/activate-hermit .env; do [ -f "$file" ] && . "./$file"; done
[ -f .env.leave ] && . ./.env.leave
[ -f .venv/bin/activate ] && . .venv/bin/activate && git --version
"""
"""A prompt that asks Git; hooks of direnv, autoenv, Hermit and dotenv; an environment entered with its folder."""

_MISE = (
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".config/mise.toml",
    ".config/mise/config.toml",
    ".config/mise/conf.d/x.toml",
    "mise.dev.toml",
)
_EDITORS = (
    ".idea/startup.xml",
    ".idea/watcherTasks.xml",
    ".nvim.lua",
    ".lazy.lua",
    ".helix/languages.toml",
    ".vim/coc-settings.json",
    ".flox/env/manifest.toml",
    ".claude/settings.json",
    ".mcp.json",
    ".zed/settings.json",
)
_SAID = re.compile(
    r"""(?:os\.execute\(|command=|enter = |pager = |command = |on-activate = |"command": )["'](.+?)["']"""
)
_HG = re.compile(r"^\w+ = !?(.+)$", re.MULTILINE)


def lives_on(person: Person) -> str:
    """The person goes on with their day, in every folder of the project; what was said."""
    (person.home / ".bashrc").write_text(BASHRC)
    (person.home / ".vimrc").write_text("set exrc\n")
    said = [person.uses_git_everywhere()]
    for folder in _folders(person.work):
        said.append(_run(person, folder, "bash", "-i", "-c", 'eval "$PROMPT_COMMAND"; true'))
        said.append(_run(person, folder, "bash", "-l", "-c", "true"))
        said.append(_vim(person, folder))
        said += [_run(person, folder, "sh", "-c", line) for line in _unasked(folder)]
        if (folder / ".venv/bin/python").exists():
            said.append(_run(person, folder, ".venv/bin/python", "-c", "pass"))
    return "\n".join(said)


def _unasked(folder: Path) -> Iterator[str]:
    """The lines that the programs which are played would run."""
    for name in (*_MISE, *_EDITORS, ".jj/repo/config.toml"):
        yield from _SAID.findall(_read(folder / name))
    for name in (".hg/hgrc", ".sl/config"):
        yield from _HG.findall(_read(folder / name))
    if tasks := _read(folder / ".vscode/tasks.json"):
        for task in json.loads(tasks)["tasks"]:
            if task.get("runOptions", {}).get("runOn") == "folderOpen":
                yield task["command"]


def _vim(person: Person, folder: Path) -> str:
    """`set exrc` makes it read these two in the folder where it starts."""
    if not (files := [name for name in (".vimrc", ".exrc") if (folder / name).is_file()]):
        return ""
    if shutil.which("vim"):
        return _run(person, folder, "vim", "--not-a-term", "-n", "-c", "qa!")
    lines = re.findall(r"^:silent !(.+)$", _read(folder / files[0]), re.MULTILINE)
    return "".join(_run(person, folder, "sh", "-c", line) for line in lines)


def _read(file: Path) -> str:
    return file.read_text() if file.is_file() else ""


def _folders(work: Path) -> Iterator[Path]:
    for place, inner, _ in os.walk(work):
        if "/objects" not in place:
            yield Path(place)
            yield from (Path(place, name) for name in inner if Path(place, name).is_symlink())


def _run(person: Person, folder: Path, *words: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env=person.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    return (done.stdout + done.stderr).decode(errors="replace")
