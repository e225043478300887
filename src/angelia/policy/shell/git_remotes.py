"""Where Git's names of other machines lead: settings decide it, so a remembered yes is bound to them as they stand.

`origin` is whatever the repository's settings say, with `pushurl`, `insteadOf` and the like. So it is not worked out
here: the addresses are for people to see, and the digest holds every line.
"""

import hashlib
import re
from collections.abc import Sequence

from angelia.policy.shell.words import names

_TALKS = names("push fetch pull remote ls-remote submodule lfs archive send-pack fetch-pack svn p4")
_BY_THE_REPOSITORY = names("gh glab hub tea")
"""Programs that go where the repository's remotes lead."""
_FURTHER = re.compile(r"(?im)^[^#;\n]*\b(include|includeif|worktreeconfig)\b")
_ADDRESS = re.compile(r"(?im)^\s*(?:push)?url\s*=\s*\"?([^\s\"#;]+)")


def names_a_remote(words: Sequence[str]) -> bool:
    """Whether a command's words may mean another machine by a name that the repository explains.

    >>> [names_a_remote(line.split()) for line in ("git push origin main", "git -C x pull", "git log", "gh pr list")]
    [True, True, False, True]
    """
    program = words[0].rpartition("/")[2] if words else ""
    return program in _BY_THE_REPOSITORY or (program == "git" and not _TALKS.isdisjoint(words[1:]))


def leads_elsewhere(words: Sequence[str]) -> bool:
    """Whether a command means other repositories than the one where it runs: by `-C`, or by its submodules."""
    if words[0].rpartition("/")[2] != "git":
        return False
    return words[1].startswith("-") or "submodule" in words or any(word.startswith("--recurse") for word in words)


def git_destination(settings: str) -> str:
    r"""The addresses in a repository's settings, with a digest of all of them; empty where they name further files.

    >>> git_destination('[remote "origin"] # ours\nurl = https://example.com/a.git')
    'https://example.com/a.git #91be20a0'
    >>> git_destination("[include] path = x")
    ''
    """
    if _FURTHER.search(settings):
        return ""
    digest = hashlib.sha256(settings.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return " ".join([*dict.fromkeys(_ADDRESS.findall(settings)), f"#{digest}"])
