"""Logins of the browser that last: a name, the sites that it is for, their cookies and what they store.

`browser/NAME.json` in the home, which only its owner can read. Whoever uses one holds a lock on `browser/NAME.lock`,
which ends with the process, so two conversations never write over each other's logins.
"""

import fcntl
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.browsers.cookies import Cookie
from angelia.browsers.logins import KeptLogins, SiteStorage
from angelia.core.errors import BadInput, ConfigError, NotFound, fault_words

FOLDER = "browser"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}"


class KeptProfile(Struct, frozen=True):
    """One. `origins` are the sites that it is for; only what is sent to these is kept."""

    origins: tuple[str, ...]
    cookies: tuple[Cookie, ...] = ()
    storage: tuple[SiteStorage, ...] = ()


class BrowserProfiles:
    """Those of one home; see `tools.page_access.ProfilesAccess`."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def kept(self) -> Mapping[str, KeptProfile]:
        """All of them by name.

        Raises:
            ConfigError: one cannot be read, or can be read by others.
        """
        return {path.stem: _read(path) for path in sorted(self._folder.glob("*.json"))}

    def kept_for(self, origin: str) -> Sequence[str]:
        """The names of those that are for a site; none where they cannot be read, which whoever takes one is told."""
        try:
            return [name for name, one in self.kept().items() if origin in one.origins]
        except ConfigError:
            return ()

    def add(self, name: str, origins: tuple[str, ...]) -> bool:
        """Have one of this name for these sites; logins that are kept in it stay. Returns whether it is new.

        Raises:
            BadInput: the name is none, no site is named, or a conversation uses it now.
        """
        if not re.fullmatch(_NAME, name):
            raise BadInput(f"{name!r} is no name for a profile.", "It is made of letters, digits and . _ -")
        if not origins:
            raise BadInput("A profile is for some sites, and none was named.", then="Such as --for github.com")
        lent = self._taken(name)
        try:
            path = self._path(name)
            before = _read(path) if path.exists() else None
            _write(path, replace(before, origins=origins) if before else KeptProfile(origins))
        finally:
            lent.give_back()
        return before is None

    def forget(self, name: str) -> None:
        """Take it away, with all logins in it.

        Raises:
            NotFound: there is none.
            BadInput: a conversation uses it now.
        """
        self._must_be(name)
        lent = self._taken(name)
        try:
            self._path(name).unlink(missing_ok=True)
        finally:
            lent.give_back()

    def lend(self, name: str) -> "HeldProfile":
        """Take one; see `tools.page_access.ProfilesAccess`."""
        self._must_be(name)
        lent = self._taken(name)
        try:
            kept = _read(self._path(name))
        except BaseException:
            lent.give_back()
            raise
        lent.origins, lent.logins = kept.origins, KeptLogins(kept.cookies, kept.storage)
        return lent

    def _must_be(self, name: str) -> None:
        if not re.fullmatch(_NAME, name) or not self._path(name).exists():
            there = ", ".join(path.stem for path in sorted(self._folder.glob("*.json"))) or "none at all"
            raise NotFound(f"There is no profile {name!r}; there are: {there}.")

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _taken(self, name: str) -> "HeldProfile":
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            why = f"Another conversation has the logins of {name!r} now."
            raise BadInput(why, "Two at once would write over each other's.", "Try again when it is closed.") from error
        return HeldProfile(name, self._path(name), lock)


class HeldProfile:
    """See `tools.page_access.LentProfile`."""

    def __init__(self, name: str, path: Path, lock: int) -> None:
        self.name = name
        self.origins: tuple[str, ...] = ()
        self.logins = KeptLogins()
        self._path, self._lock = path, lock

    def keep(self, logins: KeptLogins) -> None:
        """Keep these, if they are others than before."""
        if logins != self.logins:
            _write(self._path, KeptProfile(self.origins, logins.cookies, logins.storage))
            self.logins = logins

    def give_back(self) -> None:
        """Let others have it. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _read(path: Path) -> KeptProfile:
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigError(f"Others could read {path}.", "It holds logins.", f"chmod 600 {path}")
        return msgspec.json.decode(path.read_bytes(), type=KeptProfile)
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"The logins in {path} cannot be read: {fault_words(error)}.") from error


def _write(path: Path, profile: KeptProfile) -> None:
    from angelia.service.settings.private_file import write_private

    try:
        write_private(path, msgspec.json.encode(profile).decode())
    except OSError as error:
        raise ConfigError(f"The logins in {path} cannot be written: {error.strerror}.") from error
