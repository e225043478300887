"""A folder's file of instructions, in words for the person who may trust it."""

import posixpath
import shlex

from angelia.context.prompt.facts import FolderFile, UntrustedFile, UnusableFile
from angelia.context.prompt.folder_instructions import MOST_BYTES
from angelia.context.prompt.visible_text import visible
from angelia.core.counts import counted

SHOWN_LINES = 12
"""Of a file, where its whole is one step further."""

_LONG = 500
"""Characters of a line that are shown with the first ones."""


def not_followed(file: FolderFile, where: str) -> str:
    """That there is a file which is not followed, and what to do; empty where there is nothing to say.

    `where` is empty for a file of this machine, else the spec of its sandbox.
    """
    match file:
        case UntrustedFile(path=path, changed=changed):
            why = "has changed since you trusted it" if changed else "holds instructions that you have not trusted"
            how = f"a conversation there asks you: angelia chat --sandbox {shlex.quote(where)}"
            then = how if where else f"angelia trust {shlex.quote(posixpath.dirname(path))}"
            return f"{path} {why}, so they are not followed. Read it, then: {then}".replace("\n", " ")
        case UnusableFile(path=path, why=why):
            return f"The instructions of this folder are not followed: {path} is not used: {why}.".replace("\n", " ")
        case _:
            return ""


def asked_about(file: UntrustedFile, most: int = SHOWN_LINES) -> str:
    """The question, with the first lines of the file."""
    name = posixpath.basename(file.path)
    folder = visible(posixpath.dirname(file.path)).replace("\n", " ")
    head = (
        f"{name} in {folder} has changed since you trusted it. Trust it as it is now?"
        if file.changed
        else f"{name} in {folder} holds instructions for work there. Follow them?"
    )
    return "\n".join([head, *remarks(file), *(["", *beginning(file.text, most)] if most else [])])


def remarks(file: UntrustedFile) -> list[str]:
    """What to know of a file besides its words."""
    found, size = [], len(file.text.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        found.append(f"It has {size:,} bytes, of which the model is given at most {MOST_BYTES:,}.")
    if file.hidden:
        found.append(
            f"It holds {counted(file.hidden, 'character')} that cannot be seen; written out here, such as <U+200B>. "
            "Look at it with care: this is a way to hide words from you."
        )
    return found


def beginning(text: str, most: int = SHOWN_LINES) -> list[str]:
    """The first lines, and how many follow; of a very long line its beginning."""
    lines = text.strip("\n").splitlines()
    more = len(lines) - most
    return [
        *(line if len(line) <= _LONG else f"{line[:_LONG]}…" for line in lines[:most]),
        *([f"… and {more:,} more lines" if more > 1 else "… and one more line"] * (more > 0)),
    ]


def fenced(text: str) -> str:
    """A text as a block of Markdown that nothing in it ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"
