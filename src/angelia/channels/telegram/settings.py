"""What can be set of a Telegram channel, and how long it waits."""

from typing import ClassVar

from msgspec import Struct

from angelia.channels.settings import ChannelSettings, Secret, SetupGuide


class TelegramSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`token` is what @BotFather gave. `api` is the Bot API's server, `local` says that it is one's own, with larger
    files. With a `webhook`, a public https address that leads to the gateway, Telegram comes to us; without it we ask.
    """

    guide: ClassVar[SetupGuide] = SetupGuide(
        "Telegram",
        (
            "In Telegram, open a chat with @BotFather.",
            "Send it /newbot. It asks for a name, and for a username that ends with “bot”.",
            "It answers with a token such as 123456:AAE… Copy all of it, and paste it here.",
        ),
        "https://t.me/BotFather",
        write=True,
    )
    token: Secret = Secret(env="TELEGRAM_BOT_TOKEN")
    api: str = "https://api.telegram.org"
    local: bool = False
    webhook: str = ""


class TelegramWaits(Struct, frozen=True):
    """Seconds: for the next byte of an `answer`, in `silence` until the connection is taken for dead (under 90), and
    as a `pause` between two tries and after the last part of an album.
    """

    answer: float = 60.0
    silence: float = 65.0
    pause: float = 1.0
