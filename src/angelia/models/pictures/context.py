"""What a painter is opened with."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from angelia.http.server import HttpServer
from angelia.models.pictures.table import PainterRow
from angelia.models.port import Credential


class PictureTokens(Struct, frozen=True):
    """What a reply says that it took, in tokens; those of pictures are among the others."""

    input: int = 0
    input_pictures: int = 0
    output: int = 0
    output_pictures: int = 0


PicturePrice = Callable[[PictureTokens, int], Awaitable[int]]
"""What so many pictures, or the tokens of a reply, cost: millionths of a US dollar, -1 if nobody knows."""


class PainterContext(Struct, frozen=True):
    """What is there for a painter of one model; it takes what it needs.

    `name` is `vendor:model`, as person and model read it. `seconds` is how long one picture may take, `connect` how
    long reaching the server may. `workflow` is the path of the person's own, for servers that paint by one.
    """

    name: str
    model: str
    row: PainterRow
    server: Callable[[], Awaitable[HttpServer]]
    credential: Callable[[], Awaitable[Credential]]
    price: PicturePrice
    seconds: float
    connect: float
    workflow: str = ""
