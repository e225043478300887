"""What can be set of an IRC channel, and how long it waits."""

from typing import ClassVar, Literal

from msgspec import Struct

from angelia.channels.settings import ChannelSettings, Secret, SetupGuide
from angelia.core.amounts import Amount, Port


class IrcSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`server` is reached by TLS unless `tls` is off; `ca` is a file with certificates to trust in place of the
    machine's. `login`, empty for the nick, and `token`, its password, are of our account at the network's services
    (SASL); `server_password` is of the server itself. `join` are the channels to be in.

    `identity` says by what people are known: their `account`, for which the server vouches; their whole `mask`
    (nick!user@host); or their `nick` alone, which anybody can take. `line_seconds` is the pace of lines, 0 for none.
    """

    guide: ClassVar[SetupGuide] = SetupGuide(
        "IRC",
        (
            "Choose a network, a nick, and the channels to be in.",
            "If the nick is registered, its password is the token; otherwise leave that empty.",
        ),
        write=True,
    )
    needed: ClassVar[tuple[str, ...]] = ("server", "nick", "join")
    connected: ClassVar[bool] = True
    server: str = "irc.libera.chat"
    port: Port = 6697
    tls: bool = True
    ca: str = ""
    nick: str = "angelia"
    join: tuple[str, ...] = ()
    login: str = ""
    token: Secret | None = None
    server_password: Secret | None = None
    identity: Literal["account", "mask", "nick"] = "account"
    line_seconds: Amount = 2.0

    @property
    def accounts(self) -> tuple[Secret | str, ...]:
        """The nick on its server: a password may be that of several."""
        return (f"{self.nick}@{self.server}:{self.port}".lower(),)


class IrcWaits(Struct, frozen=True):
    """Seconds: for the `answer` to what was sent; in `silence` until the connection is taken for dead (under 90); as a
    `pause` between two tries; and until a channel that put us out is joined again (`back`).
    """

    answer: float = 60.0
    silence: float = 75.0
    pause: float = 1.0
    back: float = 60.0
