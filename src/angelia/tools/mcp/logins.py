"""What a login at a site left behind, so that the next connection needs none."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from angelia.core.errors import AngeliaError


class StoredLogin(Struct, frozen=True, forbid_unknown_fields=True):
    """A login at the site of `url`, for no other. The rest is JSON as the standards have it (RFC 6749, 7591, 8414,
    9728), empty for none; `expires` is Unix seconds, 0 if nobody said.
    """

    url: str
    tokens: str
    client: str
    server: str = ""
    resource: str = ""
    expires: float = 0.0


class SiteLogins(Protocol):
    """The logins of one home, by the names of their servers. What they hold is secret."""

    def read(self, name: str) -> StoredLogin | None:
        """The login at a server; None for none.

        Raises:
            ConfigError: others could read it, or it cannot be read.
        """
        ...

    def write(self, name: str, login: StoredLogin) -> None:
        """Keep it, for its owner alone.

        Raises:
            OSError: it cannot be written.
        """
        ...

    def alone(self, name: str) -> AbstractAsyncContextManager[None]:
        """Meanwhile nobody else of this home, in whichever process, does the same with this login."""
        ...


class LoginEnded(AngeliaError):
    """A login does not hold any more, and nobody is here to log in."""


class LoginRefused(AngeliaError):
    """There is no login: the site does not let us in, or is not what it says it is."""


class Returned(Struct, frozen=True):
    """What a browser brought back from the login: the code, the state it was sent with, and who says so, if told."""

    code: str
    state: str
    issuer: str = ""


class LoginPerson(Struct, frozen=True):
    """Somebody who can log in: `show` gives them the address to go to, `returned` waits until they are back at
    `redirect`.
    """

    redirect: str
    show: Callable[[str], Awaitable[None]]
    returned: Callable[[], Awaitable[Returned]]


LogInAgain = Callable[[str, str], Awaitable[Returned]]
"""Has the person log in at an address, whose login ends at the second one.

Raises LoginEnded where nobody waits for it, LoginRefused where they do not.
"""


class RegisteredClient(Struct, frozen=True):
    """As whom we log in where we were registered before: an id, or the address of a document that describes us."""

    id: str = ""
    secret: str = ""
    document: str = ""
