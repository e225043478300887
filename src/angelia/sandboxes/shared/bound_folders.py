"""A conversation's folders on this machine, for sandboxes that bind them into a container."""

from collections.abc import Sequence
from pathlib import Path

from angelia.path_queries import is_file, is_folder
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.local.confinement import Share
from angelia.sandboxes.local.git_guard import guarded, repositories
from angelia.sandboxes.local.safe_open import AllowedRoot, AllowedRoots, shown
from angelia.sandboxes.local.secret_places import secret_places
from angelia.sandboxes.local.startup_guard import only_read, startup_guard
from angelia.sandboxes.port import AccessRefused, NoSuchFile

HOME = "/home/angelia"
"""Where a command finds its home inside."""


class BoundFolders:
    """The workspace, at its own path on both sides; a home of the conversation's own; and what of it stays unseen.

    `state` keeps what belongs to this conversation in this kind of sandbox. `nothing` is an empty folder, to be laid
    over folders that are hidden.
    """

    def __init__(self, place: SandboxContext, kind: str) -> None:
        """Nothing is made yet; `kind` is the name by which the registry knows such sandboxes.

        Raises:
            NoSuchFile: the workspace is no folder of this machine.
            AccessRefused: it cannot be one.
        """
        self.workspace = Path(place.workspace).resolve()
        if not is_folder(self.workspace):
            raise NoSuchFile(
                f"The workspace {shown(place.workspace)} is not a folder.", then="Make it, or name another."
            )
        if self.workspace in (Path("/"), place.home.resolve()):
            raise AccessRefused(
                f"{shown(place.workspace)} cannot be a workspace.", then="Name a folder of your project."
            )
        self._lives = place.state.absolute()
        self.state = self._lives / kind / place.id
        self.home, self.nothing = self.state / "home", self.state / "nothing"
        self._hidden = tuple(path.absolute() for path in (place.home, *secret_places(Path.home().resolve())))
        self._startup = only_read(Path.home().resolve(), self.workspace)

    def make(self) -> None:
        """Make the folders that are to be bound in."""
        for folder in (self.home, self.nothing):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def guarded(self) -> Sequence[Share]:
        """What of the workspace is read-only: see `startup_guard`, and Git's hooks and settings."""
        startup = startup_guard(self.workspace, self._startup)
        return (*startup, *guarded([self.workspace, *repositories(self.workspace)]))

    def hidden(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Folders, and files, of the workspace that are not to be seen."""
        places = (place.resolve() for place in self._hidden)
        within = [place for place in places if place.is_relative_to(self.workspace)]
        return tuple(str(p) for p in within if is_folder(p)), tuple(str(p) for p in within if is_file(p))

    def roots(self, *more: AllowedRoot) -> AllowedRoots:
        """Where files are looked for on this machine: workspace, home, and `more`, as far as they are there."""
        roots = (AllowedRoot(HOME, self.home), *more)
        there = tuple(root for root in roots if root.outside.is_dir())
        return AllowedRoots(
            (AllowedRoot(str(self.workspace), self.workspace), *there), self._lives, self._hidden, self._startup
        )
