"""What is known of servers, channels and threads: which belongs to which, and how large a file each takes."""

from collections.abc import Iterable

from angelia.channels.discord.api import DiscordApi, DiscordCall
from angelia.channels.discord.capabilities import BOOSTED, UPLOAD
from angelia.channels.discord.payloads import DM, THREADS, DiscordChannelInfo, Guild
from angelia.channels.failures import Rejected
from angelia.channels.lenient import read
from angelia.core.entry import Address


class Places:
    """Filled by what the gateway tells, and by asking where it told nothing."""

    def __init__(self, door: str, api: DiscordApi) -> None:
        self._door, self._api = door, api
        self._channels: dict[str, DiscordChannelInfo] = {}
        self._tiers: dict[str, int] = {}
        self.roles: set[str] = set()
        """Roles that are the bot's own: mentioning one is mentioning it."""

    def hear(self, name: str, data: bytes, me: str) -> None:
        """Take note of an event; most are about something else."""
        match name:
            case "GUILD_CREATE" | "GUILD_UPDATE":
                guild = read(data, Guild)
                self._tiers[guild.id] = guild.premium_tier
                self._add(guild.id, (*guild.channels, *guild.threads))
                self.roles |= {role.id for role in guild.roles if role.tags.bot_id == me}
            case "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE":
                channel = read(data, DiscordChannelInfo)
                self._add(channel.guild_id, (channel,))
            case _:
                pass

    def _add(self, guild: str, channels: Iterable[DiscordChannelInfo]) -> None:
        for one in channels:
            self._channels[one.id] = DiscordChannelInfo(
                one.id, one.type, guild or one.guild_id, one.parent_id, one.name
            )

    async def address(self, channel: str, guild: str, told: DiscordChannelInfo | None = None) -> Address:
        """Where a channel is for us: a thread stands beneath its channel, a chat without a server is by itself.

        Raises:
            ChannelError: it had to be asked for, and there was no answer.
        """
        if not guild:
            return Address(self._door, channel)
        if told is not None:
            self._add(guild, (told,))
        if channel not in self._channels:
            self._add(guild, (await self._ask(channel, guild),))
        known = self._channels[channel]
        return Address(self._door, known.parent_id, channel) if known.type in THREADS else Address(self._door, channel)

    async def _ask(self, channel: str, guild: str) -> DiscordChannelInfo:
        try:
            return await self._api.call(DiscordCall("GET", f"/channels/{channel}"), DiscordChannelInfo)
        except Rejected:
            return DiscordChannelInfo(
                channel, 0, guild
            )  # we may not look at it, and so it is nothing that we could know more of

    def name(self, channel: str) -> str:
        """What people call a channel, empty for nobody knows."""
        return self._channels[channel].name if channel in self._channels else ""

    def upload(self, to: Address) -> int:
        """Bytes of one file that a chat takes, as far as its server is known."""
        known = self._channels.get(to.chat)
        return BOOSTED.get(self._tiers.get(known.guild_id, 0), UPLOAD) if known and known.type != DM else UPLOAD
