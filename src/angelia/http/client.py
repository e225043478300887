"""How a server that the person named is reached: kept alive, by its proxy, and told what may be trusted."""

import asyncio
import os
import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from angelia.core.errors import ConfigError
from angelia.http.pool import ConnectionPool
from angelia.http.server import HttpServer, goes_directly

if TYPE_CHECKING:
    import httpx2

KEEP_ALIVE = 120.0
"""Seconds for which an idle connection is kept; the longest pause of a tool call that should not cost a handshake."""

MOST_IDLE = 32
"""Connections that are kept for it; a process that holds a thousand chats is not to hold as many connections."""

CA_FILES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
"""Where systems keep their authorities when OpenSSL was built for another place (Debian, Fedora, BSD and macOS)."""


async def open_server(base_url: str, environ: Mapping[str, str] = os.environ) -> HttpServer:
    """The server behind `base_url`; close it when it is no longer needed.

    Authorities are read in a thread (31 ms); `http://` reads none. Proxies (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`,
    `NO_PROXY`) and `SSL_CERT_FILE` or `SSL_CERT_DIR` are honoured.

    Raises:
        ConfigError: `base_url` or the proxy's is no URL, or the certificates cannot be read.
    """
    url = base(base_url)
    proxy = proxy_for(base_url, environ)
    secure = "https" in {url.scheme, _scheme(proxy)}
    try:
        trust = await asyncio.get_running_loop().run_in_executor(None, _trusting, environ) if secure else None
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"The certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {error}."
        ) from error
    if proxy:
        transport = _through(proxy, trust)
        return HttpServer(base_url, None, lambda: _client(base_url, transport))
    pool = ConnectionPool(trust, most_idle=MOST_IDLE, keep=KEEP_ALIVE)
    return HttpServer(base_url, pool if goes_directly(url) else None, lambda: _client(base_url, _over(pool)))


async def http_client(base_url: str, environ: Mapping[str, str] = os.environ) -> "httpx2.AsyncClient":
    """A client for everything below `base_url`, made as `open_server` says; close it when it is no longer needed.

    Raises:
        ConfigError: see `open_server`.
    """
    return (await open_server(base_url, environ)).client


def _client(base_url: str, transport: "httpx2.AsyncBaseTransport") -> "httpx2.AsyncClient":
    import httpx2

    return httpx2.AsyncClient(
        base_url=base_url,
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        headers={"user-agent": "angelia"},
    )


def _over(pool: ConnectionPool) -> "httpx2.AsyncBaseTransport":
    """Straight to the server, which costs a third of what httpx2's own transport does."""
    from angelia.http.transport import DirectTransport

    return DirectTransport(pool)


def _scheme(proxy: str) -> str:
    """The scheme of a proxy's URL.

    Raises:
        ConfigError: it is no URL.
    """
    try:
        return urlsplit(proxy).scheme
    except ValueError as error:
        raise ConfigError(f"The proxy {proxy.rpartition('@')[2]!r} cannot be used: {error}.") from error


def _through(proxy: str, trust: ssl.SSLContext | None) -> "httpx2.AsyncBaseTransport":
    """By httpx2's own transport. It speaks HTTP/1.1 as ours does: over HTTP/2, replies that come at once share a
    connection, and whatever cuts or holds up one of them cuts or holds up all.

    Raises:
        ConfigError: the proxy cannot be used.
    """
    import httpx2

    idle = httpx2.Limits(max_connections=None, max_keepalive_connections=MOST_IDLE, keepalive_expiry=KEEP_ALIVE)
    try:
        return httpx2.AsyncHTTPTransport(
            verify=trust or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            proxy=httpx2.Proxy(proxy),
            trust_env=False,
            limits=idle,
        )
    except (ValueError, httpx2.InvalidURL, ImportError) as error:
        raise ConfigError(f"The proxy {proxy.rpartition('@')[2]!r} cannot be used: {error}.") from error


def base(url: str) -> SplitResult:
    """The parts of a base URL; quick, for whoever wants to complain long before a client is made.

    Raises:
        ConfigError: it is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"{url!r} is no base URL.", then="It begins with https:// or http:// and names a host.")
    return parts


def proxy_for(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """The proxy for `url`, empty for a direct connection. Variables in lower case go before those in upper case,
    and this machine is always reached directly.

    >>> proxy_for("https://api.openai.com/v1", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".internal"})
    'http://proxy:3128'
    """

    def variable(name: str) -> str:
        return environ.get(name, "").strip() or environ.get(name.upper(), "").strip()

    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if _is_here(host) or _excepted(host, parts.port, variable("no_proxy")):
        return ""
    proxy = variable(f"{parts.scheme}_proxy") or variable("all_proxy")
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _excepted(host: str, port: int | None, exceptions: str) -> bool:
    for entry in exceptions.lower().replace(",", " ").split():
        name, _, wanted = entry.partition(":")
        if wanted and wanted != str(port):
            continue
        name = name.removeprefix("*").removeprefix(".")
        if not name or host == name or host.endswith(f".{name}"):
            return True
    return False


def _trusting(environ: Mapping[str, str]) -> ssl.SSLContext:
    """A context that trusts what the environment names, else what the system trusts; on Windows and macOS httpx2 makes
    one that asks the system's own verifier.
    """
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if file or folder:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(file or None, folder or None)
        return context
    if os.name == "nt" or os.uname().sysname == "Darwin":
        import httpx2

        return httpx2.create_ssl_context(trust_env=False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    found = next((file for file in (paths.openssl_cafile, *CA_FILES) if Path(file).is_file()), None)
    if found is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(found)
    return context
