"""What can be set of a Discord channel, and how long it waits."""

from typing import ClassVar

from msgspec import Struct

from angelia.channels.settings import ChannelSettings, Secret, SetupGuide


class DiscordSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`token` is the bot's, from the Developer Portal. `api` and `cdn` are Discord's servers.

    With `groups = "all"` the bot asks to see every message of its servers, which has to be allowed in the portal
    ("Message Content Intent"); otherwise it sees what is said in direct messages, and what mentions or answers it.
    """

    guide: ClassVar[SetupGuide] = SetupGuide(
        "Discord",
        (
            "In the Developer Portal, choose New Application and give it a name.",
            "Under Bot, choose Reset Token, and copy the token: it is shown once.",
            "Paste it here. A link then lets the bot into a server of yours; whoever shares one can write to it.",
        ),
        "https://discord.com/developers/applications",
        write=True,
    )
    token: Secret = Secret(env="DISCORD_BOT_TOKEN")
    api: str = "https://discord.com/api/v10"
    cdn: str = "https://cdn.discordapp.com"


class DiscordWaits(Struct, frozen=True):
    """Seconds: for the next byte of an `answer`, in `silence` until the connection is taken for dead (under 90), as a
    `pause` between two tries, and until somebody who pressed something is told that it takes `longer` (Discord gives
    three).
    """

    answer: float = 60.0
    silence: float = 60.0
    pause: float = 1.0
    longer: float = 2.0
