"""What goes out, as arguments of Slack's methods ("chat.postMessage", "files.completeUploadExternal")."""

from collections.abc import Sequence

from angelia.channels.capabilities import Capabilities, Kind
from angelia.channels.failures import Rejected
from angelia.channels.kinds import ENDINGS, NAMED, refuse_too_large
from angelia.channels.markup.marks import SlackMarkdown
from angelia.channels.outgoing import Button, OutFile, OutText
from angelia.channels.slack.capabilities import LABEL, NOTICE, TEXT

DIALECT = SlackMarkdown()

_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""What begins a mention or a link in the text beside the blocks ("Formatting text", Escaping text)."""


def words(text: OutText) -> dict[str, object]:
    """Words, and the buttons beneath them: nobody is called by them. `text` is what a notification shows.

    Raises:
        Rejected: they are too long; nothing has left.
    """
    size = len(text.marked or text.plain)
    if size > TEXT:
        raise Rejected(f"The text has {size:,} characters, and a Slack message at most {TEXT:,}.")
    block = {"type": "markdown", "text": text.marked} if text.marked else plain_block(text.plain)
    return {"text": text.plain[:NOTICE].translate(_ESCAPED), "blocks": [block, *_rows(text.buttons)]}


def plain_block(plain: str) -> dict[str, object]:
    """Words in which nothing is read as markup ("Rich text block")."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": plain}]}
    return {"type": "rich_text", "elements": [section]}


def _rows(buttons: Sequence[Button]) -> list[object]:
    shown = [
        {
            "type": "button",
            "text": {"type": "plain_text", "text": one.label[:LABEL], "emoji": False},
            "action_id": f"angelia-{number}",
            "value": one.value,
        }
        for number, one in enumerate(buttons)
    ]
    return [{"type": "actions", "elements": shown}] if shown else []


def checked(file: OutFile, capabilities: Capabilities) -> OutFile:
    """A file that Slack takes.

    Raises:
        Rejected: it does not; no byte has left.
    """
    refuse_too_large(file, capabilities, "Slack")
    if not file.size:
        raise Rejected(f"{file.name} is empty, and Slack takes no empty file.")
    return file


def name_of(file: OutFile) -> str:
    """A name that ends as its kind does: by that Slack knows how to show it.

    >>> from pathlib import Path
    >>> name_of(OutFile(Kind.PHOTO, Path("x"), 1, "Makefile", "image/png"))
    'Makefile.png'
    """
    ending = file.name[file.name.rfind(".") :].lower() if "." in file.name else ""
    fits = file.kind is Kind.DOCUMENT or NAMED.get(ending) is file.kind
    return file.name if fits else file.name + ENDINGS.get(file.mime, "")


def sharing(files: Sequence[OutFile], ids: Sequence[str]) -> dict[str, object]:
    """Files that were brought, with the words beneath them, plain: Slack has no `markdown` block there."""
    pairs = zip(ids, files, strict=True)
    said: dict[str, object] = {"files": [{"id": one, "title": file.name} for one, file in pairs]}
    caption = files[0].caption
    return said | ({"blocks": [plain_block(caption.plain)]} if caption and caption.plain else {})
