"""The page as it is reached from other machines: by TLS of its own, or behind a proxy."""

import asyncio
import datetime as dt
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from argon2 import PasswordHasher
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from angelia.faces.web.door import WebDoor
from angelia.service.app import App
from tests.ports import free_port
from tests.web.visitor import opened

PASSWORD = "heron under seven quiet bridges"
NAME = "angelia.example.org"
NOWHERE = "http://127.0.0.1:9/v1"


def write_certificate(folder: Path, *names: str, days: int = 60) -> tuple[Path, Path]:
    """A certificate that vouches for itself, and its key; good for so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    end = dt.datetime.now(dt.UTC) + dt.timedelta(days=days)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - dt.timedelta(days=365))
        .not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(exist_ok=True)
    certificate, own = folder / "page.pem", folder / "page.key"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    own.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, own


class Afar:
    """Somebody at another machine. `url` is where their requests arrive, `origin` what stands in their browser; `more`
    is what a proxy on the way adds.
    """

    def __init__(self, door: WebDoor, url: str, origin: str, more: dict[str, str], certificate: Path | None) -> None:
        self.door, self.url, self.origin = door, url, origin
        self.more = more
        self.cookie = ""
        trust = ssl.create_default_context(cafile=certificate) if certificate else False
        self.client = httpx2.AsyncClient(timeout=30, verify=trust, trust_env=False)

    async def ask(self, method: str, path: str, body: object = None, **headers: str | None) -> httpx2.Response:
        """As their browser does; a header that is None is left out."""
        sent: dict[str, str | None] = {"sec-fetch-site": "same-origin", **self.more}
        if method != "GET":
            sent |= {"origin": self.origin, "content-type": "application/json"}
        if self.cookie:
            sent["cookie"] = self.cookie
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
        kept = {name: value for name, value in sent.items() if value is not None}
        came = await self.client.request(
            method, self.url + path, headers=kept, content=content if method != "GET" else None
        )
        self.client.cookies.clear()
        if cookie := came.headers.get("set-cookie"):
            self.cookie = cookie.partition(";")[0]
        return came

    async def log_in(self, password: str = PASSWORD, **headers: str | None) -> httpx2.Response:
        """By the password."""
        return await self.ask("POST", "/api/login/password", {"password": password}, **headers)


@asynccontextmanager
async def serving(app: App, listen: str) -> AsyncIterator[WebDoor]:
    """The page, until the end."""
    door, ready = WebDoor(app), asyncio.Event()
    running = asyncio.create_task(door.run(listen, ready.set))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if running.done():
        running.result()
    try:
        yield door
    finally:
        running.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)


def _cheap() -> PasswordHasher:
    """Argon2id with the least parameters: those of ours cost a third of a second of a processor on purpose."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@asynccontextmanager
async def afar(folder: Path, way: str, **web: Any) -> AsyncIterator[Afar]:
    """A page with a password, which is cheap to look at, reached by `tls` or by a `proxy` on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("angelia.faces.web.access.password._hasher", _cheap)
        async with _afar(folder, way, web) as somebody:
            yield somebody


@asynccontextmanager
async def _afar(folder: Path, way: str, web: Mapping[str, Any]) -> AsyncIterator[Afar]:
    port = free_port()
    certificate: Path | None = None
    more: dict[str, str] = {}
    if way == "tls":
        certificate, key = write_certificate(folder / "tls", "localhost")
        origin, url = f"https://localhost:{port}", f"https://localhost:{port}"
        settings: dict[str, Any] = {"origin": origin, "certificate": str(certificate), "certificate_key": str(key)}
    else:
        origin, url = f"https://{NAME}", f"http://127.0.0.1:{port}"
        settings = {"origin": origin, "proxies": ["127.0.0.1"]}
        more = {"host": NAME, "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
    async with opened(folder, NOWHERE, web={**settings, **web}) as app:
        await WebDoor(app).ways.password.set(PASSWORD)
        async with serving(app, f"{'0.0.0.0' if way == 'tls' else '127.0.0.1'}:{port}") as door:
            somebody = Afar(door, url, origin, more, certificate)
            try:
                yield somebody
            finally:
                await somebody.client.aclose()
