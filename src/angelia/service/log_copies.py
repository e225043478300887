"""The log of a home moved between the home and a PostgreSQL, either way."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.core.errors import BadInput
from angelia.core.ids import wall_clock
from angelia.service.log_places import PASSWORD, address_of, open_log, open_log_to_read
from angelia.service.settings.config import Loaded
from angelia.store.log.copying import BESIDE, CopiedEntries, StagedLog, copy_entries

if TYPE_CHECKING:
    from angelia.store.port import StoreConnection

HOME = "home"
_FILLED = ("entries", *BESIDE)


async def copy_log_to(
    loaded: Loaded, environ: Mapping[str, str], places: tuple[str, str], told: Callable[[str], None]
) -> CopiedEntries:
    """Copy the log of this home from the first of two places to the second: `home`, or an address of PostgreSQL.

    Raises:
        BadInput: they are the same, there is no log at the first, or one at the second.
        ConfigError: one is no place for a log.
        MissingPart, StoreError, CodecError: as `store.log.copying.copy_entries` and `open_log` say.
    """
    source, target = (_at(loaded, place) for place in places)
    if source.config.store == target.config.store:
        raise BadInput("Both places are the same.", then="Name where the log lies, and where it is to lie.")
    await _require_log(source, places[0], environ)
    staged = _staged(target, environ)
    try:
        db = open_log(source, environ, wall_clock)
        try:
            return await copy_entries(db, staged, told)
        finally:
            db.close()
    finally:
        staged.db.close()


def _at(loaded: Loaded, place: str) -> Loaded:
    return replace(loaded, config=replace(loaded.config, store="" if place == HOME else place))


async def _require_log(loaded: Loaded, place: str, environ: Mapping[str, str]) -> None:
    """Looked at without making one where there is none."""

    def look(connection: "StoreConnection") -> bool:
        return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM entries)").fetchone()[0])

    db = open_log_to_read(loaded, environ)
    try:
        if not await db.read(look):
            raise BadInput(f"There is no log in {place} to copy.", then="Look at the two places that you named.")
    finally:
        db.close()


def _staged(loaded: Loaded, environ: Mapping[str, str]) -> StagedLog:
    if not (address := address_of(loaded)):
        from angelia.store.sql.staged import StagedFile

        return StagedFile.open(loaded.home, _FILLED)
    from angelia.store.postgres.staged import StagedPostgres

    return StagedPostgres.open(address, loaded.home, _FILLED, password=environ.get(PASSWORD, ""))
