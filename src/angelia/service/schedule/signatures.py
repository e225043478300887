"""Whether a signal was signed by who has its secret, and by which key it is known: pure, by the two schemes.

Nothing that was not signed may tell one signal from another, or a replay under another id would begin another turn. So
the key is the message's id where that is signed with the body (Standard Webhooks 1.0.0, "Signature scheme"), and the
body's own digest where the body alone is signed (GitHub, "Validating webhook deliveries"; `X-GitHub-Delivery` is not).
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Literal

from angelia.core.errors import AngeliaError, ConfigError

TOLERANCE_S = 300
"""How far a message's time may be from ours: five minutes, as the libraries of Standard Webhooks have it."""
SHORTEST_SECRET = 16
"""Bytes of a secret, at least: one that can be guessed proves nothing."""
_LONGEST_ID = 256

Scheme = Literal["standard", "github"]


class NotSigned(AngeliaError):
    """It does not show that it comes from who has the secret."""


def must_be_shown(scheme: Scheme, headers: Mapping[str, str], now: int) -> None:
    """Raise for a head with which no body could be signed, so that none is read. `now` is Unix milliseconds.

    Raises:
        NotSigned: a header is missing, or the time that it names is too far from ours.
    """
    if scheme == "github":
        if not headers.get("x-hub-signature-256", "").startswith("sha256="):
            raise NotSigned("It has no X-Hub-Signature-256.")
        return
    name, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not name or not at or "v1," not in headers.get("webhook-signature", ""):
        raise NotSigned("One of webhook-id, webhook-timestamp and webhook-signature (v1) is missing.")
    if len(name) > _LONGEST_ID or "." in name or not (at.isascii() and at.isdigit() and len(at) <= 12):
        # With a dot in its id the same signed bytes could be read as another id, time and body.
        raise NotSigned("Its webhook-id or webhook-timestamp is none.")
    if abs(now // 1000 - int(at)) > TOLERANCE_S:
        raise NotSigned(f"It was signed {abs(now // 1000 - int(at))} seconds away from our time.")


def signed_key(scheme: Scheme, secret: str, headers: Mapping[str, str], body: bytes, now: int) -> str:
    """What the signal is known by, once its signature is right: the same for each repeat of it.

    >>> shown = {"x-hub-signature-256": "sha256=" + hmac.new(b"k" * 16, b"{}", "sha256").hexdigest()}
    >>> signed_key("github", "k" * 16, shown, b"{}", 0)
    '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'

    Raises:
        NotSigned: the signature is missing, wrong, or too old.
        ConfigError: the secret is no secret.
    """
    must_be_shown(scheme, headers, now)
    key = key_of(scheme, secret)
    if scheme == "github":
        wanted = f"sha256={hmac.new(key, body, 'sha256').hexdigest()}"
        if not hmac.compare_digest(wanted.encode(), headers["x-hub-signature-256"].encode("latin-1", "replace")):
            raise NotSigned("Its signature is wrong.")
        return hashlib.sha256(body).hexdigest()
    name, at = headers["webhook-id"], headers["webhook-timestamp"]
    wanted = signature(key, name, at, body)
    shown = headers["webhook-signature"].split(" ")  # several while a secret is being changed
    if not any(hmac.compare_digest(wanted.encode(), one.encode("latin-1", "replace")) for one in shown):
        raise NotSigned("Its signature is wrong.")
    return name


def signature(key: bytes, name: str, at: str, body: bytes) -> str:
    """The `webhook-signature` of a message by Standard Webhooks."""
    signed = hmac.new(key, f"{name}.{at}.".encode("latin-1") + body, "sha256").digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def key_of(scheme: Scheme, secret: str) -> bytes:
    """The bytes with which is signed.

    Raises:
        ConfigError: it is too short, or no base64 where the scheme has it so.
    """
    if scheme == "github":
        key = secret.encode()
    else:
        try:
            key = base64.b64decode(secret.removeprefix("whsec_") + "==", validate=False)
        except binascii.Error as error:
            raise ConfigError("A secret of Standard Webhooks is whsec_ and base64, and this one is not.") from error
    if len(key) < SHORTEST_SECRET:
        raise ConfigError(
            f"The secret has {len(key)} bytes, and at least {SHORTEST_SECRET} are needed.",
            then="`openssl rand -base64 32` makes one.",
        )
    return key
