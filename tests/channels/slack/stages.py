"""What the channel's own claims have in common."""

from collections.abc import Sequence
from typing import cast

from angelia.channels.capabilities import IncomingKind
from angelia.channels.incoming import Envelope, IncomingMessage
from angelia.channels.slack.channel import SlackChannel
from angelia.core.entry import Address
from angelia.testing.channels.network import Thing
from angelia.testing.channels.stage import Stage
from tests.channels.slack.network import Slack


def network(stage: Stage) -> Slack:
    """The fake that a stage is on."""
    return cast("Slack", stage.network)


def channel(stage: Stage) -> SlackChannel:
    """The channel that a stage has opened."""
    return cast("SlackChannel", stage.channel)


def texts(heard: Sequence[Envelope]) -> list[str]:
    """What was said, in order."""
    return [envelope.what.text for envelope in heard if isinstance(envelope.what, IncomingMessage)]


def said(text: str, where: Address = Slack.here, *, to_us: bool = False) -> Thing:
    """Words of the friend's."""
    return Thing(IncomingKind.TEXT, where, text, to_us=to_us)
