"""A mail as parts of a message to a model: who, what and when as it says itself, its words and its files, all as data.

Read by `email` in its old form (compat32), which reads whatever comes: what is malformed is shown as it lies there.
"""

import asyncio
import re
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from pathlib import PurePosixPath

from msgspec import Struct

from angelia.core.content import Content, Text
from angelia.core.counts import counted
from angelia.core.errors import BadInput, MissingPart
from angelia.core.text import clean, one_line
from angelia.service.schedule.imap import MOST_HEAD, MOST_MAIL, Mail
from angelia.service.schedule.outside import OutsideServices, as_parts
from angelia.tools.port import Fetched
from angelia.tools.web.fetch import readable

MOST_FILES = 20
"""Files of one mail that come along; of more it is said how many were left."""
_MOST_NESTED = 100
"""Parts that may hold others in a mail that is read: Python's parser takes each within the one before."""
_LONGEST_PAGE = 2_000_000
"""Characters of a mail in HTML that is made readable."""
_HEADERS = ("From", "To", "Cc", "Date", "Subject")


class MailFile(Struct, frozen=True):
    """A file in a mail, under a name that its sender gave."""

    name: str
    data: bytes


class MailRead(Struct, frozen=True):
    """What a mail says: `head` in lines, its words, and which of `text/plain` and `text/html` they are; its files."""

    head: str
    words: str
    kind: str
    files: tuple[MailFile, ...]


def read_mail(data: bytes) -> MailRead:
    r"""A mail of RFC 5322 and MIME; never fails, since anybody may have written it. One that is nested beyond reason is
    a file.

    >>> read_mail(b"From: Ann <ann@example.org>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHello.").head
    'From: Ann <ann@example.org>\nSubject: Grüße'
    """
    if _nested(data) > _MOST_NESTED:
        head = re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0][:MOST_HEAD]
        return MailRead(_head(message_from_bytes(head)), "", "text/plain", (MailFile("mail.eml", data),))
    message = message_from_bytes(data)
    plain: list[str] = []
    html: list[str] = []
    files: list[MailFile] = []
    for part in message.walk():
        if part.is_multipart():  # a mail within a mail is read into
            continue
        kind, name = part.get_content_type(), part.get_filename()
        content = part.get_payload(decode=True)
        inside = content if isinstance(content, bytes) else str(part.get_payload()).encode("utf-8", "replace")
        if name or part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
            files.append(MailFile(_file_name(name, kind), inside))
        else:
            (html if kind == "text/html" else plain).append(_decoded(inside, part.get_content_charset()))
    words, kind = ("\n".join(plain), "text/plain") if plain else ("\n".join(html), "text/html")
    return MailRead(_head(message), words, kind, tuple(files))


def _nested(data: bytes) -> int:
    low = data.lower()
    return low.count(b"multipart/") + low.count(b"message/")


def _head(message: Message) -> str:
    lines = [f"{name}: {_header(value)}" for name in _HEADERS if (value := message.get(name)) is not None]
    return "\n".join(lines)


async def mail_parts(services: OutsideServices, mailbox: str, mail: Mail) -> tuple[Content, ...]:
    """What a turn is begun with: its head and words between marks, and its files beside."""
    read = await asyncio.to_thread(read_mail, mail.data)
    text = f"{read.head}\n\n{clean(await _readable(read)).strip()}".strip()
    about = f"What came by mail into {mailbox}"
    parts = list(await as_parts(services, text, about, "mail.txt"))
    if not mail.whole:
        parts.append(
            Text(f"The mail has {mail.about.size:,} bytes; more than {MOST_MAIL:,} are not read: this is its head.")
        )
    for file in read.files[:MOST_FILES]:
        try:
            parts.append(await services.intake.to_media(file.data, file.name))
        except BadInput as error:
            parts.append(Text(f"Its file {file.name!r} could not be opened: {error}"))
    if len(read.files) > MOST_FILES:
        parts.append(Text(f"Not here: {counted(len(read.files) - MOST_FILES, 'more file')} of it."))
    return tuple(parts)


async def _readable(read: MailRead) -> str:
    if read.kind != "text/html" or len(read.words) > _LONGEST_PAGE:
        return read.words
    try:
        return await readable(Fetched("", 200, read.kind, read.words.encode()))
    except (BadInput, MissingPart):
        return read.words


def _header(value: object) -> str:
    try:
        found = str(make_header(decode_header(str(value))))
    except (MessageError, LookupError, ValueError):  # ValueError: UnicodeDecodeError as well
        found = str(value)
    return one_line(clean(found), 500)


def _decoded(data: bytes, charset: str | None) -> str:
    try:
        return data.decode(charset or "utf-8", "replace")
    except LookupError:  # a charset that nobody knows
        return data.decode("latin-1")


def _file_name(name: str | None, kind: str) -> str:
    """The last part of the name alone, such as `invoice.pdf`."""
    found = PurePosixPath(one_line(clean(_header(name or "")), 120).replace("\\", "/")).name
    return found.strip(". ") or f"part.{kind.rpartition('/')[2][:10]}"
