"""The risks that a shell command can bear, and where on the machine it is judged."""

from enum import StrEnum

from msgspec import Struct


class Risk(StrEnum):
    """A closed set; `judge` decides which of them a confinement already makes harmless."""

    CHANGES = "changes"
    """Mild: deletes or overwrites files that the command names, within the workspace or in /tmp."""
    DESTROYS = "destroys"
    """Deletes a whole tree, or whatever matches, in the workspace or in a place that only running would tell."""
    TRUNCATES = "truncates"
    """Empties or overwrites a file that holds data rather than text."""
    DISCARDS = "discards"
    """Throws away uncommitted work, or history."""
    SECRETS_HERE = "secrets_here"
    """Reads credentials that lie in the workspace."""
    RUNS_UNSEEN = "runs_unseen"
    """Runs code that was downloaded, decoded or computed, so that nobody has seen it."""
    ESCALATES = "escalates"
    """Wants more rights than the user has given."""
    SYSTEM = "system"
    """Touches devices, disks, the kernel, accounts, or shuts down."""
    EXHAUSTS = "exhausts"
    """Uses up processes or the disk."""
    UNREADABLE = "unreadable"
    """Cannot be read for sure: syntax errors, computed program names, characters that hide what it does."""
    OURS = "ours"
    """Touches our own home: grants, settings, the log."""
    CHANGES_OUTSIDE = "changes_outside"
    """Deletes or overwrites files outside the workspace."""
    SECRETS = "secrets"
    """Reads credentials outside the workspace."""
    PERSISTS = "persists"
    """Changes what runs later: start-up files, timers, services, hooks."""
    KILLS = "kills"
    """Ends processes."""
    SENDS_OUT = "sends_out"
    """Sends data to another machine, or changes something there."""
    INSTALLS = "installs"
    """Installs packages, whose code then runs."""


class Finding(Struct, frozen=True):
    """One risk of one piece of a command line. `reason` completes the sentence "It …"."""

    risk: Risk
    reason: str
    piece: str


class CommandContext(Struct, frozen=True):
    """Where a command would run. All paths are absolute; `cwd` and `own_home` may be empty.

    `home` is the user's home folder, `own_home` is ours (log, grants, settings). `absent` are files that are known not
    to be there, so that nothing is lost when a command writes them. `destination` is where the repository there leads
    (`git_remotes.git_destination`), empty where nobody knows.
    """

    workspace: str
    home: str
    own_home: str = ""
    cwd: str = ""
    absent: frozenset[str] = frozenset()
    destination: str = ""
