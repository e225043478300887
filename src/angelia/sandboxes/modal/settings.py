"""What a person may choose about sandboxes at Modal."""

from typing import Literal

from msgspec import Struct

from angelia.core.amounts import Amount, Count


class ModalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and looks of a sandbox at Modal. 0 is Modal's choice; `memory_mb` is 1,000,000 bytes, `cpus` are cores.

    `app` is the app in your account that the sandboxes belong to. One that nobody uses for `idle_minutes` is saved as
    a snapshot and ended, and comes back from it; Modal keeps a snapshot for `snapshot_days`, for ever with 0.
    """

    app: str = "angelia"
    network: Literal["none", "on"] = "none"
    memory_mb: Count = 0
    cpus: Amount = 0.0
    idle_minutes: Count = 15
    snapshot_days: Count = 30
