"""What a refusal of the Graph API means (developers.facebook.com, Cloud API, "Error codes", as of 2026)."""

import msgspec
from msgspec import Struct, field

from angelia.channels.failures import ChannelError, Later, NotSent, Rejected, Unsure, WindowClosed, login_failure
from angelia.channels.whatsapp.capabilities import WINDOW_HOURS

WINDOW = 131047
"""More than 24 hours since the person's last message."""

_LOGIN = frozenset({0, 3, 10, 33, 190, 131005, 131031, 133010, *range(200, 300)})
"""No or not enough permission, an expired token, a number or an account that is not usable."""

_FLOOD = frozenset({4, 80007, 130429, 131048, 131056, 133016})
"""Too much at once: of the app, the account, the number, or from the number to one person."""

_AGAIN = frozenset({2, 131000, 131016, 131057, 133004})
"""Something is wrong on their side, and was not done."""

_WORDS = {
    131021: "The number cannot write to itself.",
    131026: "This person cannot be reached: no WhatsApp, an old version, or they have not accepted its terms.",
    131030: "The number may write only to people on the app's list of recipients, and this one is not on it.",
    131042: "The business account's payment is not in order, so WhatsApp sends nothing.",
    131045: "The phone number is not fully registered.",
    131049: "WhatsApp keeps messages of businesses from this person for now.",
    131050: "This person has stopped messages of this kind.",
    131052: "WhatsApp could not read the file.",
    131053: "WhatsApp could not take the file.",
    368: "WhatsApp has restricted the business account for a breach of its rules.",
    130497: "The business account may not write to people in this country.",
}


class WhatsAppDetails(Struct, frozen=True):
    """More about an error."""

    details: str = ""


class GraphError(Struct, frozen=True):
    """An error as the Graph API and its webhooks tell it."""

    code: int = -1
    message: str = ""
    title: str = ""
    error_data: WhatsAppDetails = field(default_factory=WhatsAppDetails)

    @property
    def said(self) -> str:
        """What it says of itself, with its number."""
        return f"{self.error_data.details or self.message or self.title or 'no reason'} ({self.code})"


class _Refusal(Struct, frozen=True):
    error: GraphError


def read(body: bytes) -> GraphError:
    """The error in a response; one without a number if there is none in it."""
    try:
        return msgspec.json.decode(body, type=_Refusal).error
    except msgspec.MsgspecError:
        return GraphError()


def told(status: int, error: GraphError, seconds: float) -> ChannelError:
    """What to do about a refusal; `seconds` is how long to wait where it asks for patience."""
    if status == 429 or error.code in _FLOOD:
        return Later(seconds, f"WhatsApp asks for patience: {error.said}. It goes on in {seconds:g} s.")
    if status == 401 or error.code in _LOGIN:
        return login_failed(error.said)
    if error.code == WINDOW:
        return window_closed("")
    if error.code in _AGAIN or status == 503 or (status >= 500 and error.code == 1):
        return NotSent(f"WhatsApp failed: {error.said}.")
    if status >= 500:
        return Unsure(f"WhatsApp failed: {error.said}.")
    return Rejected(why(error))


def why(error: GraphError) -> str:
    """A refusal in a sentence for people."""
    return f"{_WORDS.get(error.code, 'WhatsApp does not take it.')} It says: {error.said}."


def window_closed(asked: str) -> WindowClosed:
    """Free text is not allowed now; `asked` is the template that was sent, empty for none."""
    then = f"The template “{asked}” asks them to write; when they do, ask for it again." if asked else ""
    return WindowClosed(
        f"WhatsApp takes what a business writes only within {WINDOW_HOURS} hours of the person's last message.",
        then=then or "They have to write first; a template can ask them to (the channel's setting `template`).",
    )


login_failed = login_failure(
    "WhatsApp does not let us in.",
    "Look at the app at developers.facebook.com: a system user's token with whatsapp_business_messaging belongs "
    "where the channel's setting `token` points to, the phone number's id into `phone`.",
)
"""The token or the number is of no use."""
