"""What can be set of a WhatsApp channel, and how long it waits."""

from typing import ClassVar

from msgspec import Struct

from angelia.channels.settings import ChannelSettings, Secret, SetupGuide


class WhatsAppSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`phone` is the id of the business phone number (not the number), `token` an access token for it. Meta signs what
    it brings with `app_secret`, and shows the word `verify` when it looks at the webhook for the first time.

    Free text may be sent only within 24 hours of somebody's last message. After that `template`, the name of an
    approved template without variables in `template_language`, asks them to write; empty for none. `api` and `version`
    are the Graph API's.
    """

    guide: ClassVar[SetupGuide] = SetupGuide(
        "WhatsApp",
        (
            "Make an app of the type Business, and add the product WhatsApp to it.",
            "Under API Setup, note the id of the phone number (not the number).",
            "In the business settings make a system user with whatsapp_business_messaging, and generate its token.",
            "Under Basic settings, copy the app secret. And think of a word for the webhook's first look: verify.",
        ),
        "https://developers.facebook.com/apps",
        ("token", "app_secret", "verify"),
    )
    needed: ClassVar[tuple[str, ...]] = ("phone",)
    phone: str = ""
    token: Secret = Secret(env="WHATSAPP_TOKEN")
    app_secret: Secret = Secret(env="WHATSAPP_APP_SECRET")
    verify: Secret = Secret(env="WHATSAPP_VERIFY_TOKEN")
    template: str = ""
    template_language: str = "en_US"
    api: str = "https://graph.facebook.com"
    version: str = "v25.0"

    @property
    def accounts(self) -> tuple[Secret | str, ...]:
        """The number: one token may be for several."""
        return (self.phone,)


class WhatsAppWaits(Struct, frozen=True):
    """Seconds: for the next byte of an `answer`; between two looks (`look`) at whether the Graph API is there, which
    may be in `silence` for so long (together under 90); as a `pause` before something is tried again; and for which a
    `visit` of Meta's may take, after which it brings the same again, for up to seven days.
    """

    answer: float = 60.0
    look: float = 30.0
    silence: float = 45.0
    pause: float = 1.0
    visit: float = 15.0
