"""What a Git command would throw away."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.policy.shell.programs import abbreviates, has_flag
from angelia.policy.shell.risk import Finding, Risk
from angelia.policy.shell.words import GLOB, HOLE, Word, names

_VALUED = names("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env")

_RUNS = ("core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.hookspath", "core.askpass",
         "core.gitproxy", "sequence.editor", "diff.external", "credential.helper", "gpg.program", "pager.", "filter.",
         "include.path", "protocol.ext", "uploadpack.", "receive.", "alias.", "difftool.", "mergetool.")  # fmt: skip
"""Settings whose value Git runs (git-config(1))."""


class Loss(Struct, frozen=True):
    """How a subcommand discards: always, or with one of these flags or first words, but not with `unless`."""

    reason: str
    flags: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    always: bool = False


_CHANGES = "overwrites uncommitted changes"
_HISTORY = "overwrites or deletes history at the other end"

_LOSSES: dict[str, Loss] = {
    "restore": Loss(_CHANGES, flags=names("-W --worktree"), unless=names("-S --staged"), always=True),
    "checkout": Loss(_CHANGES, flags=names("-f --force -B --ours --theirs")),
    "switch": Loss(_CHANGES, flags=names("-f --force --discard-changes -C")),
    "reset": Loss("throws away uncommitted changes", flags=names("--hard --merge --keep")),
    "clean": Loss("deletes files that Git does not know", unless=names("-n --dry-run"), always=True),
    "stash": Loss("deletes stashed changes", first=names("drop clear")),
    "push": Loss(_HISTORY, flags=names("-f --force --force-with-lease --mirror --delete -d --prune")),
    "branch": Loss("deletes or moves a branch", flags=names("-D -d --delete -f --force -M -C")),
    "tag": Loss("deletes or moves a tag", flags=names("-d --delete -f --force")),
    "reflog": Loss("deletes the way back to older states", first=names("expire delete")),
    "gc": Loss("deletes objects that nothing refers to", flags=names("--prune")),
    "prune": Loss("deletes objects that nothing refers to", always=True),
    "filter-branch": Loss("rewrites history", always=True),
    "filter-repo": Loss("rewrites history", always=True),
    "replace": Loss("rewrites history", always=True),
    "update-ref": Loss("moves or deletes references", always=True),
    "worktree": Loss("deletes a working tree", first=names("remove")),
    # Without force Git deletes only what it can bring back.
    "rm": Loss("deletes files with their changes", flags=names("-f --force"), unless=names("--cached -n --dry-run")),
    "fetch": Loss("overwrites a branch", flags=names("-f --force")),
    "notes": Loss("deletes notes", first=names("remove prune")),
    "symbolic-ref": Loss("deletes a reference", flags=names("-d --delete")),
    "read-tree": Loss(_CHANGES, flags=names("-u --reset")),
    "checkout-index": Loss(_CHANGES, flags=names("-f -a --force --all")),
    "submodule": Loss("overwrites changes in a submodule", flags=names("-f --force"), first=names("deinit")),
    **dict.fromkeys(
        ("rebase", "merge", "am", "cherry-pick", "revert"),
        Loss("drops what has been done so far", flags=names("--abort --skip --quit")),
    ),
}


def git_risks(rest: Sequence[Word], piece: str) -> list[Finding]:
    """Findings for `git` with these arguments.

    >>> [f.risk for f in git_risks([Word("restore", ""), Word(".", "")], "git restore .")]
    [<Risk.DISCARDS: 'discards'>]
    """
    found = [
        Finding(Risk.UNREADABLE, "sets an option that makes Git run another program", word.source)
        for word in rest
        if _key(word.text).startswith(_RUNS) and ("=" in word.text or "config" in [other.text for other in rest])
    ]
    if any(word.text.startswith("ext::") for word in rest):
        found.append(Finding(Risk.UNREADABLE, "makes Git run another program as a transport", piece))
    verb, after = _verb(rest)
    if reason := _discards(verb, after):
        found.append(Finding(Risk.DISCARDS, reason, piece))
    return found


def _key(text: str) -> str:
    return text.removeprefix("-c").removeprefix("--config=").casefold()


def _verb(rest: Sequence[Word]) -> tuple[str, Sequence[Word]]:
    at = 0
    while at < len(rest) and rest[at].text.startswith("-"):
        at += 2 if rest[at].text in _VALUED else 1
    return (rest[at].text, rest[at + 1 :]) if at < len(rest) else ("", ())


def _discards(verb: str, after: Sequence[Word]) -> str:
    """Why it discards something; empty when it does not."""
    loss = _LOSSES.get(verb)
    if loss is None:
        return ""
    if verb == "checkout" and _paths(after):
        return _CHANGES
    if verb in ("fetch", "pull") and any(word.text.startswith("+") and ":" in word.text for word in after):
        return "overwrites a branch"
    if verb == "push" and any(word.text[:1] in {"+", ":"} and len(word.text) > 1 for word in after):
        return _HISTORY
    spared = has_flag(after, loss.unless)
    named = (
        has_flag(after, loss.flags)
        or abbreviates(after, loss.flags)
        or any(word.text in loss.first for word in after[:1])
    )
    return loss.reason if named or (loss.always and not spared) else ""


def _paths(after: Sequence[Word]) -> bool:
    """Whether `git checkout` is given paths rather than one branch."""
    words = [word.text for word in after]
    plain = [word for word in words if not word.startswith("-")]
    if has_flag(after, names("-b --orphan --track -t")):
        return False
    looks = any(word.startswith((".", "/", ":")) or GLOB in word or HOLE in word for word in plain)
    suffixed = any("." in word.rsplit("/", 1)[-1] and not word[:1].isdigit() and word[:1] != "v" for word in plain)
    return "--" in words or looks or suffixed or len(plain) > 1
