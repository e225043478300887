"""Takes known secret values out of text and bytes, exactly, in the forms in which they get printed."""

import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

from angelia.policy.spread import SHORTEST, Spread, SpreadSpan, base64_forms, begins, spread_forms

_PLAIN = r"(?a)[\w.-]+"
"""What JSON escapes nothing of."""


class Redactor:
    """Replaces each known secret by `[secret: label]`, whole or in a stream of chunks.

    Only exact values are replaced, and their URL-encoded, base64, hexadecimal and JSON forms; base64 and hexadecimal
    also where line ends and separators stand in between (`policy.spread`). Nothing is guessed by pattern, for that
    corrupts what people need. `too_short` names the labels whose values are under `SHORTEST` and stay as they are.

    >>> Redactor({"github": "ghp_abc123"}).text("token=ghp_abc123!")
    'token=[secret: github]!'
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.too_short = tuple(label for label, value in secrets.items() if len(value) < SHORTEST)
        forms = [(form, label) for label, value in secrets.items() if len(value) >= SHORTEST for form in _forms(value)]
        self._marks = {form: f"[secret: {label}]".encode() for form, label in reversed(forms)}
        encoded = [
            (form, label) for label, value in secrets.items() if len(value) >= SHORTEST for form in spread_forms(value)
        ]
        self._spread = Spread({form: f"[secret: {label}]".encode() for form, label in reversed(encoded)})
        longest_first = sorted(self._marks, key=len, reverse=True)
        # An empty alternation would match everywhere: with no secrets nothing may match.
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)) if longest_first else b"(?!)")

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """`data` without secrets."""
        return self._without(data, len(data))[0]

    def stream(self) -> "RedactedStream":
        """A stream of its own, for output that comes in chunks."""
        return RedactedStream(self)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """What of `data` can go out now, redacted, and what must wait because a secret may begin in it."""
        hold = min((begins(form, data) for form in self._marks), default=len(data))
        hold = min(hold, self._spread.begins(data))
        shown, done = self._without(data, hold)
        hold = max(hold, done)
        return shown + data[done:hold], data[hold:]

    def _without(self, data: bytes, before: int) -> tuple[bytes, int]:
        """`data` without the secrets that begin `before` there; as far as it is told where that ends, else whole."""
        pieces, done = [], 0
        spread = self._spread.found(data)
        while True:
            spread = [span for span in spread if span.start >= done]
            match = self._pattern.search(data, done)
            exact = [SpreadSpan(match.start(), match.end(), self._marks[match[0]])] if match else []
            span = min([*exact, *spread], key=lambda span: (span.start, -span.end), default=None)
            if span is None or span.start >= before:
                break
            pieces += [data[done : span.start], span.mark]
            done = span.end
        if before == len(data):
            pieces, done = [*pieces, data[done:]], len(data)
        return b"".join(pieces), done


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


def _forms(value: str) -> set[bytes]:
    """The forms in which a value gets printed, as bytes."""
    raw = value.encode("utf-8", "surrogatepass")
    forms = {
        raw,
        quote(raw, safe="").encode(),
        quote(raw, safe="/").encode(),
        quote_plus(raw).encode(),
    }
    forms |= _json_forms(value)
    forms |= {re.sub(rb"%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in forms}
    return {form for form in forms | base64_forms(raw) if form}


def _json_forms(value: str) -> set[bytes]:
    """Those within a string of JSON, where most keys stand as they are."""
    if re.fullmatch(_PLAIN, value):
        return set()
    import json

    written = json.dumps(value), json.dumps(value, ensure_ascii=False)
    return {form[1:-1].encode("utf-8", "surrogatepass") for form in written}
