"""What the head of a response says of a file in it: whether it is one, what it is called, and how long it is."""

import mimetypes
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

_SHOWN = frozenset({"application/json", "application/xml", "application/javascript", "application/x-javascript"})
"""Kinds of applications that a browser shows as words or pages; what ends like `_SHOWN_ENDINGS` is more of them."""
_SHOWN_ENDINGS = ("+json", "+xml", "/ecmascript", "/signed-exchange", "/webbundle")
_SHOWN_TYPES = frozenset({"text", "image", "audio", "video", "multipart", "message"})
_KEPT_TEXTS = (
    "text/csv",
    "text/x-csv",
    "text/tab-separated-values",
    "text/tsv",
    "text/calendar",
    "text/vcard",
    "text/rtf",
)
_EXTENDED = re.compile(r"filename\*\s*=\s*([\w-]+)'[^']*'([^;\s]+)", re.IGNORECASE)
_QUOTED = re.compile(r'filename\s*=\s*"((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_PLAIN = re.compile(r"filename\s*=\s*([^\s;\"]+)", re.IGNORECASE)


def fields(heads: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The fields of a response by their names in small letters, of several of one name the last."""
    return {str(one["name"]).lower(): str(one["value"]).strip() for one in heads}


def is_kept(found: Mapping[str, str]) -> bool:
    """Whether a browser that goes to such a response keeps it as a file, rather than to show it; so is a PDF here.

    >>> is_kept({"content-disposition": "Attachment"}), is_kept({"content-type": "model/stl"})
    (True, True)
    >>> is_kept({"content-type": "Application/Zip; a=b"}), is_kept({"content-type": "text/csv"})
    (True, True)
    >>> is_kept({"content-type": "text/html"}), is_kept({"content-type": "application/xhtml+xml"}), is_kept({})
    (False, False, False)
    """
    if found.get("content-disposition", "").lower().startswith("attachment"):
        return True
    kind = kind_of(found)
    if kind.partition("/")[0] in _SHOWN_TYPES:
        return kind in _KEPT_TEXTS
    return bool(kind) and kind not in _SHOWN and not kind.endswith(_SHOWN_ENDINGS)


def kind_of(found: Mapping[str, str]) -> str:
    """Its media type, without parameters; empty if it says none."""
    return found.get("content-type", "").partition(";")[0].strip().lower()


def length_of(found: Mapping[str, str]) -> int | None:
    """Bytes of the file; None if it says nothing, or the length of something that is encoded.

    >>> length_of({"content-length": "7"}), length_of({"content-length": "7", "content-encoding": "gzip"})
    (7, None)
    """
    said = found.get("content-length", "")
    encoded = found.get("content-encoding", "identity").lower() not in {"", "identity"}
    return int(said) if said.isascii() and said.isdigit() and not encoded else None


def name_of(found: Mapping[str, str], url: str, named: str = "") -> str:
    """What it is called: by its server (RFC 6266), by the link (`named`), or by its address, as browsers have it.

    >>> name_of({"content-disposition": "attachment; filename=a.txt; filename*=UTF-8''%C3%A4.txt"}, "https://a.example/")
    'ä.txt'
    >>> name_of({"content-type": "application/zip"}, "https://a.example/files/all?of=them"), name_of({}, "", "b.txt")
    ('all.zip', 'b.txt')
    """
    said = found.get("content-disposition", "")
    if extended := _EXTENDED.search(said):
        return unquote(extended[2], "latin-1" if extended[1].lower() == "iso-8859-1" else "utf-8", "replace")
    if quoted := _QUOTED.search(said):
        return re.sub(r"\\(.)", r"\1", quoted[1])
    if plain := _PLAIN.search(said):
        return plain[1]
    if named:
        return named
    last = unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])
    ending = "" if "." in last else mimetypes.guess_extension(kind_of(found)) or ""
    return f"{last or 'download'}{ending}"
