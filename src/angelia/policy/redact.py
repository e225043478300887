"""Takes known secret values out of text and bytes, exactly, in the forms in which they get printed."""

import base64
import json
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Characters. Shorter values occur by chance in ordinary text; redacting them would spoil it."""


class Redactor:
    """Replaces each known secret by `[secret: label]`, whole or in a stream of chunks.

    Only exact values are replaced, and their URL-encoded, base64 and JSON forms: nothing is guessed by pattern, for
    that corrupts what people need. `too_short` names the labels whose values are under `SHORTEST` and stay as they are.

    >>> Redactor({"github": "ghp_abc123"}).text("token=ghp_abc123!")
    'token=[secret: github]!'
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.too_short = tuple(label for label, value in secrets.items() if len(value) < SHORTEST)
        forms = [(form, label) for label, value in secrets.items() if len(value) >= SHORTEST for form in _forms(value)]
        self._marks = {form: f"[secret: {label}]".encode() for form, label in reversed(forms)}
        longest_first = sorted(self._marks, key=len, reverse=True)
        # An empty alternation would match everywhere: with no secrets nothing may match.
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)) if longest_first else b"(?!)")

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """`data` without secrets."""
        return self._pattern.sub(lambda match: self._marks[match[0]], data)

    def stream(self) -> "RedactedStream":
        """A stream of its own, for output that comes in chunks."""
        return RedactedStream(self)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """What of `data` can go out now, redacted, and what must wait because a secret may begin in it."""
        hold = min((_begins(form, data) for form in self._marks), default=len(data))
        done, pieces = 0, []
        for match in self._pattern.finditer(data):
            if match.start() >= hold:
                break
            pieces += [data[done : match.start()], self._marks[match[0]]]
            done = match.end()
        hold = max(hold, done)
        return b"".join((*pieces, data[done:hold])), data[hold:]


class RedactedStream:
    """Redacts chunks so that the whole reads as if it had been redacted at once, wherever it was cut.

    >>> stream = Redactor({"key": "abcdef"}).stream()
    >>> stream.feed(b"x abc") + stream.feed(b"def y") + stream.finish()
    b'x [secret: key] y'
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._waiting = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be shown after this chunk; at most one secret's length of it is held back."""
        ready, self._waiting = self._redactor.split(self._waiting + chunk)
        return ready

    def finish(self) -> bytes:
        """The rest."""
        rest, self._waiting = self._waiting, b""
        return self._redactor.data(rest)


def _begins(form: bytes, data: bytes) -> int:
    """Where the unfinished `form` begins at the end of `data`; the length of `data` if it does not."""
    at = data.find(form[:1], max(len(data) - len(form) + 1, 0))
    while at >= 0 and not form.startswith(data[at:]):
        at = data.find(form[:1], at + 1)
    return at if at >= 0 else len(data)


def _forms(value: str) -> set[bytes]:
    """The forms in which a value gets printed, as bytes."""
    raw = value.encode("utf-8", "surrogatepass")
    forms = {
        raw,
        quote(raw, safe="").encode(),
        quote(raw, safe="/").encode(),
        quote_plus(raw).encode(),
        json.dumps(value)[1:-1].encode("utf-8", "surrogatepass"),
        json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
    }
    forms |= {re.sub(rb"%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in forms}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        forms |= {encode(raw), encode(raw).rstrip(b"=")}
        # Within a longer text the value may begin at the second or third byte of a group of three.
        for shift in (0, 1, 2):
            whole = encode(b"\0" * shift + raw)
            usable = whole[(0, 2, 3)[shift] : (len(raw) + shift) * 8 // 6]
            forms |= {usable} if len(usable) >= SHORTEST else set()
    return {form for form in forms if form}
