"""The painter that a home may ask: which one is configured, with its key, its address and its price."""

import asyncio
from typing import TYPE_CHECKING

from angelia.core.errors import ConfigError, KeyMissing
from angelia.models.pictures.settings import PainterSettings
from angelia.service.models.catalog import ModelCatalog
from angelia.store.media.processes import MediaProcesses
from angelia.tools.port import Tool, Toolset
from angelia.tools.standalone import Standalone

if TYPE_CHECKING:
    from angelia.http.server import HttpServer
    from angelia.models.catalog.vendor import Vendor
    from angelia.models.pictures.context import PictureTokens
    from angelia.models.pictures.port import PaintedPictures, Painter, PaintWish, TellProgress
    from angelia.models.port import Credential

_COMMAND = "command"


class HomePainter:
    """What `[painter]` says, as a painter; opened when it is first asked, and one for all conversations."""

    def __init__(
        self, settings: PainterSettings, catalog: ModelCatalog, ranges: tuple[str, ...], media: MediaProcesses
    ) -> None:
        """`ranges` are addresses that the settings open beside the public ones; `media` opens what comes."""
        self.settings, self._catalog = settings, catalog
        self._ranges, self._media = ranges, media
        self._painter: Painter | None = None

    @property
    def configured(self) -> bool:
        """Whether there is one."""
        return bool(self.settings.model)

    @property
    def leaves(self) -> bool:
        """Whether words and pictures leave the person's own machines."""
        kind = self.settings.model.partition(":")[0]
        vendor = self._vendor(kind)
        return kind != _COMMAND and not (vendor and vendor.local)

    @property
    def price(self) -> int:
        """Millionths of a US dollar for one picture, -1 if nobody knows before it is there."""
        if self.settings.price >= 0:
            return round(self.settings.price * 1e6)
        kind = self.settings.model.partition(":")[0]
        vendor = self._vendor(kind)
        return 0 if kind == _COMMAND or (vendor and vendor.local) else -1

    how_to_get_one = (
        'set painter.model = "openai:gpt-image-2" (OPENAI_API_KEY) or "xai:grok-imagine-image" (XAI_API_KEY), '
        'a server of your own, or "command:LINE"; none can be embedded'
    )

    def toolset(self) -> Toolset:
        """The tool `paint`; none where no painter is configured."""
        return Standalone("pictures", self.tool()) if self.configured else Standalone("pictures")

    def tool(self) -> Tool:
        """The tool, whether or not anybody is configured who paints."""
        from angelia.tools.pictures.paint import PaintPicture

        return PaintPicture(self.open, self.is_transparent, leaves=self.leaves, price=self.price)

    async def open(self) -> "Painter":
        """The painter; nothing is sent, and its key is read.

        Raises:
            ConfigError, KeyMissing: it cannot be used as configured; says what to do.
        """
        if not self.configured:
            raise ConfigError("Nobody is configured who makes pictures.", then=f"To have one, {self.how_to_get_one}.")
        if self._painter is None:
            self._painter = await self._opened()
        return self._painter

    async def is_transparent(self, picture: bytes) -> bool:
        """Whether something shines through a picture.

        Raises:
            BadInput: it cannot be opened.
        """
        return await self._media.is_transparent(picture)

    async def paint(self, wish: "PaintWish", tell: "TellProgress") -> "PaintedPictures":
        """Paint without a conversation; what is only named by its URL is fetched by the rules for pages.

        Raises:
            ConfigError: the painter cannot be used.
            PaintFailed: there is no picture; says why and what it cost.
        """
        from angelia.policy.egress import judge_address, judge_url
        from angelia.tools.pictures.fetched_picture import fetched_picture
        from angelia.tools.web.fetcher import Fetcher

        fetcher = Fetcher(judge_url, lambda address: judge_address(address, self._ranges))
        painter = await self.open()
        return await painter.paint(wish, lambda url: fetched_picture(url, fetcher.fetch), tell)

    async def _opened(self) -> "Painter":
        kind, _, rest = self.settings.model.partition(":")
        if kind == _COMMAND:
            from angelia.models.pictures.command import CommandPainter

            return CommandPainter(rest, self.settings.seconds, max(0, round(self.settings.price * 1e6)))
        vendor = self._vendor(kind)
        if vendor is None or not rest:
            raise ConfigError(
                f"The setting `painter.model` is {self.settings.model!r}, which is no painter.",
                then="Write vendor:model (such as openai:gpt-image-2), or command:LINE with {prompt} and {out} in it.",
            )
        from angelia.models.pictures.context import PainterContext
        from angelia.models.pictures.registry import open_painter
        from angelia.models.pictures.table import painter_row

        await self._credential(vendor)
        return open_painter(
            PainterContext(
                name=self.settings.model,
                model=rest,
                row=painter_row(self.settings.server or kind, rest),
                server=lambda: self._server(vendor),
                credential=lambda: self._credential(vendor),
                price=lambda tokens, count: self._price(vendor, rest, tokens, count),
                seconds=self.settings.seconds,
                connect=self._catalog.timeouts.connect,
                workflow=self.settings.workflow,
            )
        )

    def _vendor(self, name: str) -> "Vendor | None":
        from angelia.models.catalog.vendor_table import PICTURE_VENDORS

        return self._catalog.rows.get(name) or PICTURE_VENDORS.get(name)

    async def _server(self, vendor: "Vendor") -> "HttpServer":
        server = await self._catalog.server(vendor)
        if server is None:
            raise ConfigError(
                f"The vendor {vendor.name!r} has no address.", then=f"Set base_url under [vendors.{vendor.name}]."
            )
        return server

    async def _credential(self, vendor: "Vendor") -> "Credential":
        pool = await self._catalog.keyring.pool(vendor)
        if not pool:
            name = vendor.key_env[0] if vendor.key_env else "key_command"
            raise KeyMissing(
                f"There is no key for the painter {self.settings.model}.", then=f"Set {name}, or name another one."
            )
        return pool[0]

    async def _price(self, vendor: "Vendor", model: str, tokens: "PictureTokens", count: int) -> int:
        """The person's own price first; what runs on their machines costs nothing; then the price list."""
        if self.price >= 0:
            return self.price * count
        if not (vendor.prices and tokens.output):
            return -1
        from angelia.models.catalog.picture_prices import picture_cost

        return await asyncio.to_thread(picture_cost, vendor.prices, model, tokens)
