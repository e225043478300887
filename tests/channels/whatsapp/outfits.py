"""A channel that is opened without a stage."""

from pathlib import Path

from angelia.channels.health import Health
from angelia.channels.port import ChannelContext
from angelia.channels.settings import Secret
from angelia.channels.whatsapp.channel import WhatsAppChannel
from angelia.core.ids import Clock, wall_clock
from angelia.testing.channels.network import ChannelTimeouts
from angelia.testing.networks.whatsapp_server import WhatsAppServer


def opened(network: WhatsAppServer, clock: Clock = wall_clock) -> WhatsAppChannel:
    """A channel that does not run yet."""
    kept: dict[str, str] = {}

    async def secret(where: Secret) -> str:
        return network.secrets[where.env]

    async def recall(name: str) -> str:
        return kept.get(name, "")

    async def remember(name: str, value: str) -> None:
        kept[name] = value

    def report(health: Health) -> None:
        return None

    context = ChannelContext("door", Path(), clock, secret, recall, remember, report, {})
    return network.open(context, ChannelTimeouts())
