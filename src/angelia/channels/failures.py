"""Every way in which a chat network can fail us, named by what can be done about it.

ChannelError
├─ Later          flood control; nothing was sent, and a send is welcome after `seconds`
├─ NotSent        certainly nothing was sent, and another try may succeed
├─ Unsure         our bytes left and no answer came: nobody knows
├─ Rejected       the network refuses this very thing, and will refuse it again
│   ├─ MarkupRejected   its markup; the plain text may go
│   ├─ MessageGone      what was to be edited or deleted is not there
│   └─ WindowClosed     free text is not allowed now (WhatsApp's 24 hours)
├─ CannotFetch    the bytes of something that came in cannot be had
└─ LoginFailed    the network does not know us: a wrong token, a closed account
"""

from collections.abc import Callable

from angelia.core.errors import AngeliaError


class ChannelError(AngeliaError):
    """Something with a chat network went wrong."""


class Later(ChannelError):
    """Too much at once. `seconds` is what the network asks for, of any length; nothing was sent."""

    def __init__(self, seconds: float, what: str = "") -> None:
        self.seconds = seconds
        super().__init__(what or f"The network asks to wait for {seconds:g} s.")


class NotSent(ChannelError):
    """Certainly nothing was sent: no connection, or the server said that it failed."""


class Unsure(ChannelError):
    """Our bytes left and no answer came."""


class Rejected(ChannelError):
    """The network refuses this very thing: the chat is gone, we are banned, it is too large."""


class MarkupRejected(Rejected):
    """The network cannot read the markup."""


class MessageGone(Rejected):
    """The message that was to be changed is not there any more, or cannot be changed any more."""


class WindowClosed(Rejected):
    """Free text is not allowed now; `then` says what is."""


class CannotFetch(ChannelError):
    """What came in cannot be fetched: too large for the network's own limit, expired, gone."""


class LoginFailed(ChannelError):
    """The network does not accept our credentials; `then` says where new ones come from."""


def login_failure(what: str, then: str) -> Callable[[str], LoginFailed]:
    """How a network's refusal of our credentials reads: what is refused, in the network's own words, what mends it."""
    return lambda why: LoginFailed(what, f"It says: {why}.", then)
