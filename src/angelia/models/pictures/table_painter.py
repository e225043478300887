"""What painters of the table have in common: a name, and what their row says that they can do."""

from angelia.models.pictures.context import PainterContext
from angelia.models.pictures.port import PainterCapabilities


class TablePainter:
    """One painter, without the painting: see `models.pictures.port.Painter`."""

    def __init__(self, context: PainterContext) -> None:
        self._context = context
        self.name = context.name

    def able(self) -> PainterCapabilities:
        """What the table says of it."""
        return self._context.row.able
