"""Files that pass between a page and the sandbox: a download out of it, an upload into it."""

from typing import TYPE_CHECKING, Protocol

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.context.media_forms import size_words
from angelia.core.content import Media
from angelia.core.text import file_name
from angelia.sandboxes.port import NoSuchFile, SandboxError
from angelia.tools.files.paths import judged
from angelia.tools.port import MediaAccess, ProgressAccess, SandboxAccess

if TYPE_CHECKING:
    from angelia.browsers.chromium.tab import Tab

MOST = 500_000_000
"""Bytes of one download or upload."""


class TransferContext(MediaAccess, ProgressAccess, SandboxAccess, Protocol):
    """What a transfer uses of its call."""


async def download(
    browser: ChromiumBrowser, tab: "Tab", ref: str, path: str, context: TransferContext
) -> tuple[Media, str]:
    """Click, and take the file that comes: measured, kept, and put at `path` in the sandbox where one is given.

    Returns it with what is said of it.

    Raises:
        ActFailed: nothing came, it broke off, is too large, or cannot be put there.
    """
    if path:
        await _must_be_free(path, context)
    found = await browser.download(tab, ref, limit=MOST, progress=context.progress)
    try:
        media = await context.take(found.content(), file_name(found.name) or "download", found.size)
        said = f"{media.name} ({size_words(media.blob.size)}, {media.blob.mime})"
        if not path:
            return media, f"{said}, kept as blob:{media.blob.sha256[:12]}"
        blob = media.blob
        await context.sandbox.put(await judged(context, path), found.content(), size=blob.size, sha256=blob.sha256)
        return media, f"{said}, put at {path}"
    except SandboxError as error:
        raise ActFailed(ActOutcome.UNFIT, f"It was downloaded and could not be put at {path}: {error}") from error
    finally:
        found.drop()


async def upload(browser: ChromiumBrowser, tab: "Tab", ref: str, path: str, context: TransferContext) -> str:
    """Give a file of the sandbox to what asks for one; what is said of it.

    Raises:
        ActFailed: there is no such file, nothing asks for one, or the page did not take it whole.
    """
    try:
        at = await judged(context, path)
        size = (await context.sandbox.stat(at)).size
        given = await browser.lay_in(context.sandbox.get(at, limit=MOST), file_name(path) or "file", size)
        await tab.upload(ref, given, size)
    except SandboxError as error:
        raise ActFailed(ActOutcome.UNFIT, f"{path} cannot be uploaded: {error}") from error
    return f"{path} ({size_words(size)})"


async def _must_be_free(path: str, context: TransferContext) -> None:
    try:
        await context.sandbox.stat(await judged(context, path))
    except NoSuchFile:
        return
    except SandboxError as error:
        raise ActFailed(ActOutcome.UNFIT, f"Nothing can be put at {path}: {error}") from error
    raise ActFailed(ActOutcome.UNFIT, f"There is a file at {path} already: name another place.")
