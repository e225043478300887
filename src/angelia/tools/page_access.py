"""What may be given of the person's: secrets by their handles, to pages, sites and commands; logins, by name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from angelia.browsers.logins import KeptLogins


class SecretsAccess(Protocol):
    """Secrets that the person keeps by handle, each for the sites and commands that may be given it."""

    def sites(self) -> Sequence[str]:
        """The sites (scheme, host, port) for which one is kept."""
        ...

    def kept_for(self, origin: str) -> tuple[str, ...]:
        """The handles of those that are kept for a site (scheme, host, port)."""
        ...

    async def value(self, handle: str, origin: str) -> str:
        """What is typed there now: the secret itself, or a one-time code that counts at this moment.

        Raises:
            NotFound: there is none of this handle.
            PolicyDenied: it is kept for other sites.
            AngeliaError: it cannot be read now; says why.
        """
        ...

    def for_commands(self) -> Mapping[str, str]:
        """The handles of those that commands may be given, each with the variable in which they find it."""
        ...

    async def value_for_command(self, handle: str) -> str:
        """What a command finds there now.

        Raises:
            NotFound, PolicyDenied, AngeliaError: as `value`; it is not for commands.
        """
        ...


class LentProfile(Protocol):
    """Kept logins, lent to one conversation until they are given back."""

    name: str
    origins: tuple[str, ...]
    logins: "KeptLogins"

    def keep(self, logins: "KeptLogins") -> None:
        """Keep these from now on, durably, in place of those before.

        Raises:
            ConfigError: they cannot be written.
        """
        ...

    def give_back(self) -> None:
        """Let other conversations have them. Idempotent."""
        ...


class ProfilesAccess(Protocol):
    """Logins of the browser that last, by name."""

    def kept_for(self, origin: str) -> Sequence[str]:
        """The names of those that are for a site (scheme, host, port)."""
        ...

    def lend(self, name: str) -> LentProfile:
        """Take one for this conversation alone.

        Raises:
            NotFound: there is none of this name.
            BadInput: another conversation has it.
            ConfigError: it cannot be read.
        """
        ...
