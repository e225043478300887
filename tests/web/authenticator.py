"""A device that holds a passkey, in this process: what it signs can be wrong in any way."""

import base64
import hashlib
import json
import os
import struct
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, MADE = 0x01, 0x04, 0x40
"""Flags of authenticator data (Web Authentication, 6.1): somebody is there, it is its owner, a key was made."""
OWNER = PRESENT | VERIFIED


class Authenticator:
    """One key for one site. `signed` is its count of signatures, `counts` by how much it grows with each: those that
    are kept on several devices do not count.
    """

    def __init__(self, site: str, origin: str) -> None:
        self.site, self.origin = site, origin
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(16)
        self.signed, self.counts = 0, 1

    def made(self, options: dict[str, Any], flags: int = OWNER) -> dict[str, Any]:
        """What a browser answers to `navigator.credentials.create`."""
        point = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (point.x, point.y))
        cose = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})  # RFC 9053, 7.1.1: EC2, ES256, P-256
        known = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cose
        data = self._data(flags | MADE) + known
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"])
        return self._answer({"clientDataJSON": text(client), "attestationObject": text(attestation)})

    def signs(self, options: dict[str, Any], flags: int = OWNER) -> dict[str, Any]:
        """What a browser answers to `navigator.credentials.get`."""
        self.signed += self.counts
        data, client = self._data(flags), self._client("webauthn.get", options["challenge"])
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        answer = {"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature)}
        return self._answer({**answer, "userHandle": None})

    def _answer(self, response: dict[str, Any]) -> dict[str, Any]:
        return {"id": text(self.id), "rawId": text(self.id), "type": "public-key", "response": response}

    def _client(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(said).encode()

    def _data(self, flags: int) -> bytes:
        return hashlib.sha256(self.site.encode()).digest() + bytes([flags]) + struct.pack(">I", self.signed)


def text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
