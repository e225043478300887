"""What can be set of a personal WhatsApp number, and how long it waits."""

from typing import ClassVar

from msgspec import Struct

from angelia.channels.settings import ChannelSettings, SetupGuide


class PersonalSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`node` is the program. `modules` is a folder with `node_modules` for the bridge; empty for the channel's own,
    where `angelia channels link` puts them.
    """

    guide: ClassVar[SetupGuide] = SetupGuide(
        "WhatsApp, a personal number",
        ("Have a phone at hand with the number that Angelia is to have: it scans a code to link this machine.",),
        secrets=(),
    )
    linked: ClassVar[bool] = True
    node: str = "node"
    modules: str = ""


class BridgeWaits(Struct, frozen=True):
    """Seconds: for the `answer` to one send; in `silence` until the connection is taken for dead (half of it is the
    time between two signs of life); and as a `pause` before something is tried again.
    """

    answer: float = 60.0
    silence: float = 60.0
    pause: float = 1.0
