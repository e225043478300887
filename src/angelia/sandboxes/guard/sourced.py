"""What else a shell's file obeys that is read when its folder is entered: other files, and programs put on the path.

direnv's yes is to `.envrc` alone: what that one sources, runs or builds its environment of may change without another
question, and files that it watches are obeyed anew at the next prompt (direnv-stdlib(1), "use flake", "watch_file").
"""

import posixpath
import re
from collections.abc import Iterator

_READS = re.compile(
    r"(?m)(?:^|[;&|({]|\b(?:then|do|else))[ \t]*(?:source|\.|source_env|source_env_if_exists|dotenv|dotenv_if_exists)"
    r"[ \t]+(\"[^\"\n]+\"|'[^'\n]+'|[^\s;&|)}]+)"
)
_RUNS = re.compile(
    r"(?m)(?:^|[;&|({`)]|\b(?:then|do|else|eval|exec|command))[ \t]*(?:\w+=[^\s;&|]*[ \t]+)*"
    r"(?:(?:bash|dash|sh|zsh|python[\d.]*|node|ruby|perl)[ \t]+((?!-)[^\s;&|)}`]+)"
    r"|((?:\"?\$\{?PWD\}?\"?|[\w.-]+)?/[^\s;&|)}`]+|[\w.-]+/[^\s;&|)}`]+))"
)
_BUILDS = {
    "flake": ("flake.nix", "flake.lock"),
    "nix": ("shell.nix", "default.nix"),
    "devenv": ("devenv.nix", "devenv.yaml", "devenv.lock", "devenv.local.nix", "devenv.local.yaml"),
    "devbox": ("devbox.json", "devbox.lock"),
    "pixi": ("pixi.toml", "pixi.lock"),
    "guix": ("guix.scm", "manifest.scm"),
}
"""By the word that `use` takes, or the program that prints the environment: what it is built of, hooks included."""
_USES = re.compile(rf"\buse[ \t_]+({'|'.join(_BUILDS)})\b|\b(devenv|devbox|pixi)[ \t]+(?:\w|-)")
_FLAKE_IN = re.compile(r"[ \t]+[\"']?(?:path:)?(?:\./)?((?!-)[\w./-]*)")
_ADDS = re.compile(r"(?m)\bPATH_add[ \t]+([^\n;&|]+)|\bPATH=([^\s;&|]+)")
_HERE = re.compile(r"\A(?:\$\{?PWD\}?/|\$\((?:pwd|expand_path)\)/|\./)+")


def sourced(text: str) -> Iterator[str]:
    r"""Paths of files, from the folder on in which the text stands.

    >>> list(sourced('source "$PWD/scripts/env.sh"; [ -f x ] && . ./x'))
    ['scripts/env.sh', 'x']
    >>> list(sourced('eval "$(./scripts/env)"\nexport A=b/c\nuse flake'))
    ['scripts/env', 'flake.nix', 'flake.lock']
    """
    for found in (*_READS.finditer(text), *_RUNS.finditer(text)):
        yield _HERE.sub("", next(filter(None, found.groups())).strip("\"'"))
    for found in _USES.finditer(text):
        built = next(filter(None, found.groups()))
        elsewhere = _FLAKE_IN.match(text, found.end()) if built == "flake" else None
        yield from (posixpath.join(elsewhere[1] if elsewhere else "", name) for name in _BUILDS[built])


def put_on_path(text: str) -> Iterator[str]:
    r"""Folders whose programs are found before the system's.

    >>> list(put_on_path('PATH_add bin tools\nexport PATH="$PWD/scripts:$PATH"'))
    ['bin', 'tools', 'scripts']
    """
    for found in _ADDS.finditer(text):
        words = found[1].split() if found[1] else found[2].split(":")
        yield from (_HERE.sub("", word.strip("\"'")) for word in words if not word.strip("\"'").startswith("$PATH"))
