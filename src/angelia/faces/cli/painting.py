"""`angelia paint`: a picture in a file, without a conversation."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.core.days import day_of
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.core.text import numbered
from angelia.faces.cli.options import Whole, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo

if TYPE_CHECKING:
    from angelia.models.pictures.port import PaintedPictures, PaintWish, SourcePicture
    from angelia.service.app import App

_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog=('\b\nExample:\n  angelia paint "A red fox in the snow" -o fox.png --size 16:9'))
@click.argument("prompt")
@click.option("-o", "--output", type=_PATH, required=True, help="A new file; several pictures are numbered.")
@click.option(
    "--picture", "pictures", type=_PATH, multiple=True, help="A picture to change, or to take something from."
)
@click.option("--mask", type=_PATH, help="A PNG: only where it is transparent may the first picture change.")
@click.option("--size", default="", metavar="SIZE", help="Pixels such as 1536x1024, or a shape such as 16:9.")
@click.option("--count", type=Whole(min=1), default=1, help="How many.")
@click.option("--transparent", is_flag=True, help="Have no background.")
@click.option("--seed", type=Whole(min=0), default=None, help="The same number gives the same picture.")
@settings_options
def paint(prompt: str, output: Path, **given: Any) -> int:
    """Make a picture from words, or change pictures, with the painter that is set. Each file is named on stdout."""
    return asyncio.run(_paint(prompt, output, given))


async def _paint(prompt: str, output: Path, given: dict[str, Any]) -> int:
    files = [output.with_name(numbered(output.name, number)) for number in range(1, given["count"] + 1)]
    if there := next((file for file in files if file.exists()), None):
        raise BadInput(f"{there} exists already; nothing was asked and nothing paid.", then="Name another file.")
    app = await open_app(given)
    try:
        return await _painted(app, prompt, files, given)
    finally:
        await app.close()


async def _painted(app: "App", prompt: str, files: list[Path], given: dict[str, Any]) -> int:
    from angelia.models.pictures.fitting import fitting, wished_size
    from angelia.models.pictures.port import PaintWish

    painter = await app.painter.open()
    await _demand_money(app)
    pictures = tuple([await _given(app, path) for path in given["pictures"]])
    mask = (await _given(app, given["mask"]),) if given["mask"] else ()
    seed = -1 if given["seed"] is None else given["seed"]
    wish = PaintWish(prompt, pictures, mask, wished_size(given["size"]), given["count"], given["transparent"], seed)
    with working(f"{painter.name} paints") as tell:
        made = await app.painter.paint(fitting(wish, painter.able(), painter.name), tell)
    return await _written(app, wish, made, files)


async def _demand_money(app: "App") -> None:
    """No picture is asked for once the day's cap on money is reached."""
    from angelia.context.usage_meter import money

    cap = app.loaded.config.limits.day_cost
    spent = (await app.transcript.spent(OWNER, day_of(time.time_ns() // 1_000_000))).cost
    if cap and spent >= cap * 1e6:
        what = f"{money(spent)} were spent today, and the cap is ${cap:g}"
        raise BadInput(f"Nothing was asked and nothing paid: {what}.", then="Raise limits.day_cost, or wait.")


async def _given(app: "App", path: Path) -> "SourcePicture":
    from angelia.core.content import MediaKind
    from angelia.models.pictures.port import SourcePicture
    from angelia.store.media.measure import measure

    try:
        data = await asyncio.to_thread(path.read_bytes)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from error
    found = await measure(data, path.name, app.media)
    if found.kind is not MediaKind.IMAGE:
        raise BadInput(f"{path} is no picture.")
    return SourcePicture(data, found.mime, found.width, found.height)


async def _written(app: "App", wish: "PaintWish", made: "PaintedPictures", files: list[Path]) -> int:
    from angelia.context.media_forms import Pixels
    from angelia.context.usage_meter import money
    from angelia.core.content import MediaKind
    from angelia.faces.cli.show import write_new
    from angelia.models.pictures.fitting import OPAQUE, differences
    from angelia.store.media.measure import measure

    notes, sizes = list(made.notes), []
    for file, data in zip(files, made.pictures, strict=False):
        try:
            found = await measure(data, file.name, app.media)
        except BadInput as error:
            notes.append(f"A picture is lost: {error}")
            continue
        if found.kind is not MediaKind.IMAGE:
            notes.append(f"What came is no picture: it begins {data[:12].hex(' ')}.")
            continue
        sizes.append(Pixels(found.width, found.height))
        if wish.transparent and not await app.painter.is_transparent(data):
            notes.append(f"{file} {OPAQUE}")
        await asyncio.to_thread(write_new, file, data)
        echo(str(file))
    for note in [*notes, *differences(wish, sizes)]:
        echo(f"Note: {note}", err=True)
    echo(f"cost: {money(made.cost) if made.cost >= 0 else 'unknown'}", err=True)
    return 0 if sizes else 1
