"""What `angelia export` writes for others: conversations in their formats, one or many."""

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.core.errors import AngeliaError, BadInput, fault_words
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.faces.cli.options import open_app
from angelia.faces.words.output import echo

if TYPE_CHECKING:
    from angelia.service.app import App

FORMATS = ("openai", "sharegpt", "atif")


async def trajectories(ids: Sequence[str], form: str, media: str, given: dict[str, Any]) -> bytes:
    """These conversations in a format of others, a line each; a single one of ATIF is a document.

    Raises:
        NotFound: there is no such conversation, or what it refers to is gone.
    """
    from angelia.service.trajectories.formats import as_atif, as_openai, as_sharegpt
    from angelia.service.trajectories.read import MediaAs, media_urls, read_trajectory

    write = {"openai": as_openai, "sharegpt": as_sharegpt, "atif": as_atif}[form]
    app = await open_app(given)
    try:
        await _learn_secrets(app)
        told = []
        for part in ids:
            found = await app.transcript.find(OWNER, part)
            entries, _ = await app.transcript.legible(found)
            urls = await media_urls(app.blobs, entries, MediaAs(media))
            document = write(await read_trajectory(app.blobs, found, entries), urls)
            text = json.dumps(document, ensure_ascii=False)
            if form == "atif" and len(ids) == 1:
                text = msgspec.json.format(text, indent=2)  # five times as fast as `json.dumps` with an indent
            told.append(app.redaction.text(text))
    finally:
        await app.close()
    return "\n".join(told).encode("utf-8", "surrogatepass") + b"\n"


async def _learn_secrets(app: "App") -> None:
    """Know every secret that there is, so that none is handed on; what cannot be read is told."""
    catalog = app.model_catalog
    reads = [partial(catalog.keyring.pool, vendor) for vendor in catalog.rows.values()]
    every: list[Callable[[], Awaitable[object]]] = [app.secrets.learn, *reads]
    for read in every:
        try:
            await read()
        except AngeliaError as error:
            echo(f"angelia: what this keeps secret is not searched for: {error}", err=True)


def of_batch(folder: Path) -> list[ConversationId]:
    """The conversations of a batch's folder.

    Raises:
        BadInput: it holds no results.
    """
    try:
        lines = (folder / "results.jsonl").read_bytes().splitlines()
        return [ConversationId(msgspec.json.decode(line)["conversation"]) for line in lines]
    except (OSError, msgspec.MsgspecError, KeyError, TypeError) as error:
        raise BadInput(
            f"{folder} holds no results of a batch: {fault_words(error)}.", then="Name the batch's folder."
        ) from error
