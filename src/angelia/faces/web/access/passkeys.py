"""Passkeys: kept for the site they were made at, and what they sign looked at (Web Authentication Level 3).

A challenge is good once, for five minutes and one purpose. It carries its own end and our signature, so strangers who
ask for many take no room; only those that did their work are remembered until they end.
"""

import asyncio
import base64
import binascii
import hmac
import secrets
import struct
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.core.errors import BadInput, MissingPart, NotFound
from angelia.core.ids import Clock
from angelia.core.text import clean
from angelia.faces.web.asgi.request import RequestRefused
from angelia.store.tables.key_value import KeyValue

CHALLENGE_MS = 5 * 60 * 1000
_PREFIX, _USER = "web-passkey:", "web-passkey-user"
_NAME = 60

Purpose = Literal["log in", "register"]


class Passkey(Struct, frozen=True):
    """`site` is the name at which it counts (WebAuthn's RP ID); `used` is 0 until it was. Times in Unix milliseconds.
    `public_key` is COSE's form in base64url, `signed` the authenticator's own count.
    """

    id: str
    name: str
    site: str
    public_key: str
    signed: int
    since: int
    used: int = 0


class Passkeys:
    """Those of a home, for every process of it; challenges are this process's."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self._key_value, self._clock = key_value, clock
        self._challenges = Challenges(clock)
        self._taking = asyncio.Lock()

    async def all(self) -> list[Passkey]:
        """By the time they were made."""
        found = await self._key_value.all_as(Passkey, _PREFIX)
        return sorted((one for _, one in found), key=lambda one: one.since)

    async def at(self, origin: str) -> list[Passkey]:
        """Those that log in there."""
        site = passkey_site(origin)
        return [one for one in await self.all() if site and one.site == site]

    async def to_register(self, origin: str) -> dict[str, Any]:
        """What the browser is asked to make (`PublicKeyCredentialCreationOptionsJSON`).

        Raises:
            BadInput: an address without a name has no passkeys.
            MissingPart: webauthn is not installed.
        """
        _need_library()
        site = _site(origin)
        from webauthn import generate_registration_options
        from webauthn.helpers import options_to_json_dict
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            PublicKeyCredentialDescriptor,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        options = generate_registration_options(
            rp_id=site,
            rp_name="Angelia",
            user_name=f"Angelia at {site}",
            user_id=await self._user(),
            challenge=self._challenges.new("register"),
            timeout=CHALLENGE_MS,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
            ),
            exclude_credentials=[PublicKeyCredentialDescriptor(id=_bytes(one.id)) for one in await self.at(origin)],
        )
        return options_to_json_dict(options)

    async def register(self, origin: str, name: str, credential: dict[str, Any]) -> Passkey:
        """Keep what the browser made.

        Raises:
            BadInput: it has no name, or is not what was asked for.
        """
        _need_library()
        from webauthn import verify_registration_response
        from webauthn.helpers.exceptions import WebAuthnException

        named = clean(" ".join(name.split()))[:_NAME]
        if not named:
            raise BadInput("The passkey has no name.", "By it you know later which one it is.", "Such as: my phone.")
        try:
            challenge = _challenge_in(credential)
            self._challenges.spend(challenge, "register")
            made = verify_registration_response(
                credential=credential,
                expected_challenge=challenge,
                expected_rp_id=_site(origin),
                expected_origin=origin,
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError, KeyError) as error:  # KeyError: a key without its parts
            raise BadInput("The passkey was not kept.", str(error)[:200], "Begin anew.") from error
        own = _text(made.credential_id)
        kept = Passkey(own, named, _site(origin), _text(made.credential_public_key), made.sign_count, self._clock())
        if not await self._key_value.replace(_PREFIX + own, "", msgspec.json.encode(kept).decode()):
            raise BadInput("There is this passkey already.")
        return kept

    def to_log_in(self, origin: str) -> dict[str, Any]:
        """What the browser is asked to sign (`PublicKeyCredentialRequestOptionsJSON`). It names no passkey: the browser
        knows which it has for this site, and a stranger is not told which there are.
        """
        return {
            "challenge": _text(self._challenges.new("log in")),
            "rpId": passkey_site(origin),
            "timeout": CHALLENGE_MS,
            "userVerification": "required",
            "allowCredentials": [],
        }

    async def log_in(self, origin: str, credential: dict[str, Any]) -> Passkey:
        """The passkey that signed, which is spent once by this.

        Raises:
            RequestRefused: none of those that count here did.
            MissingPart: webauthn is not installed.
        """
        _need_library()
        from webauthn import verify_authentication_response
        from webauthn.helpers.exceptions import WebAuthnException

        async with self._taking:
            known = next((one for one in await self.at(origin) if one.id == credential.get("id")), None)
            try:
                challenge = _challenge_in(credential)
                self._challenges.spend(challenge, "log in")
                if known is None:
                    raise ValueError("It is not known here; it may have been removed.")
                done = verify_authentication_response(
                    credential=credential,
                    expected_challenge=challenge,
                    expected_rp_id=known.site,
                    expected_origin=origin,
                    credential_public_key=_bytes(known.public_key),
                    credential_current_sign_count=known.signed,
                    require_user_verification=True,
                )
            except (WebAuthnException, ValueError, KeyError) as error:  # KeyError: a key without its parts
                why = str(error)[:200]
                raise RequestRefused(401, "This passkey does not log in.", why, "Try it again.") from error
            used = replace(known, signed=done.new_sign_count, used=self._clock())
            await self._key_value.put(_PREFIX + known.id, msgspec.json.encode(used).decode())
        return used

    async def remove(self, own: str) -> Passkey:
        """It logs in nowhere from now on.

        Raises:
            NotFound: there is none.
        """
        for one in await self.all():
            if one.id == own:
                await self._key_value.forget(_PREFIX + own)
                return one
        raise NotFound("There is no such passkey.", "It was removed already.")

    async def _user(self) -> bytes:
        """The owner, as authenticators know them: random, and the same for all passkeys of this home."""
        await self._key_value.replace(_USER, "", _text(secrets.token_bytes(32)))
        return _bytes(await self._key_value.get(_USER))


class Challenges:
    """What is to be signed: 16 random bytes, their end, and our mark for the purpose."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._spent: dict[bytes, int] = {}

    def new(self, purpose: Purpose) -> bytes:
        """Good once, within five minutes."""
        text = secrets.token_bytes(16) + struct.pack(">Q", self._clock() + CHALLENGE_MS)
        return text + self._mark(text, purpose)

    def spend(self, challenge: bytes, purpose: Purpose) -> None:
        """It has done its work by this.

        Raises:
            ValueError: it is none of ours for that, is too old, or did its work before.
        """
        text, mark = challenge[:24], challenge[24:]
        now = self._clock()
        self._spent = {one: until for one, until in self._spent.items() if until >= now}
        if len(challenge) != 56 or not hmac.compare_digest(mark, self._mark(text, purpose)):
            raise ValueError("It answers another question than the one that was put.")
        until = int(struct.unpack(">Q", text[16:])[0])
        if until < now or challenge in self._spent:
            raise ValueError("The question that it answers was put too long ago, or answered before.")
        self._spent[challenge] = until

    def _mark(self, text: bytes, purpose: Purpose) -> bytes:
        return hmac.digest(self._secret, purpose.encode() + b"\0" + text, "sha256")


def passkey_site(origin: str) -> str:
    """The name to which passkeys of an origin are bound; empty for an IP address, which has none (WebAuthn, "RP ID").

    >>> passkey_site("https://angelia.example.org:8443"), passkey_site("http://127.0.0.1:8780")
    ('angelia.example.org', '')
    """
    host = urlsplit(origin).hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return host
    return ""


def _site(origin: str) -> str:
    if site := passkey_site(origin):
        return site
    raise BadInput(
        f"There are no passkeys for {origin}.", "They are bound to a name, and this is an address.", "Open it by name."
    )


def _challenge_in(credential: dict[str, Any]) -> bytes:
    """The challenge that was signed, as the browser says."""
    try:
        said = msgspec.json.decode(_bytes(credential["response"]["clientDataJSON"]), type=dict[str, Any])
        return _bytes(said["challenge"])
    except (KeyError, TypeError, AttributeError, msgspec.MsgspecError, binascii.Error) as error:
        raise ValueError("It is no answer of a browser.") from error


def _need_library() -> None:
    try:
        import webauthn  # noqa: F401  # whether it is there
    except ModuleNotFoundError as error:
        raise MissingPart("A passkey for the page", "login") from error


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _bytes(value: str) -> bytes:
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
