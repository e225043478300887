"""What people can set for Matrix beside what every channel has, and how long it waits."""

from typing import ClassVar

from msgspec import Struct

from angelia.channels.settings import ChannelSettings, Secret, SetupGuide
from angelia.core.amounts import PositiveCount


class MatrixSettings(ChannelSettings, frozen=True, forbid_unknown_fields=True):
    """`server` is where the homeserver's client-server API is, `token` an access token of our account there, `upload`
    the bytes that a file may have there (Synapse: 50 MB unless it is told otherwise).
    """

    guide: ClassVar[SetupGuide] = SetupGuide(
        "Matrix",
        (
            "Register an account at your homeserver that nobody else uses.",
            "Get an access token of its own, by its password: `angelia docs matrix` has the line to type.",
            "Rooms without end-to-end encryption alone are answered.",
        ),
        write=True,
    )
    needed: ClassVar[tuple[str, ...]] = ("server",)
    server: str = "https://matrix.org"
    token: Secret = Secret(env="MATRIX_TOKEN")
    upload: PositiveCount = 50_000_000


class MatrixTimeouts(Struct, frozen=True):
    """Seconds: for the next byte of an `answer` to what people see, in `silence` to anything else, until the connection
    is taken for dead (under 90), and as a `pause` between two tries.
    """

    answer: float = 60.0
    silence: float = 75.0
    pause: float = 1.0
