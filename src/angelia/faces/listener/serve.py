"""Listens at an address for an ASGI application (https://asgi.readthedocs.io, HTTP 2.3), until cancelled."""

import asyncio
import logging
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from angelia.core.errors import ConfigError, MissingPart
from angelia.faces.listener.certificate import CertificateFiles, ServedCertificate
from angelia.faces.listener.connection import bounded
from angelia.faces.listener.under_way import Send as Send
from angelia.faces.listener.unfinished import ListenerLimits, Receive

if TYPE_CHECKING:
    import uvicorn

MOST_HEAD = 16_384
"""Bytes of a request's line and headers."""

Scope = MutableMapping[str, Any]


class AsgiApp(Protocol):
    """What answers the requests, within its limits."""

    @property
    def limits(self) -> ListenerLimits:
        """What strangers may take of it."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        ...


class ListenerFront(Struct, frozen=True):
    """What stands before the requests. With `certificate` it speaks TLS. `proxies` are the addresses and networks
    whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed; those of nobody else are.
    """

    certificate: CertificateFiles | None = None
    proxies: tuple[str, ...] = ()


def address_in(listen: str, setting: str) -> tuple[str, int]:
    """Host and port of an address such as 127.0.0.1:8787.

    Raises:
        ConfigError: it is none; names the setting.
    """
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or len(port) > 5 or int(port) > 0xFFFF:
        raise ConfigError(f"{setting} is {listen!r}.", "Expected an address and a port, such as 127.0.0.1:8787.")
    return host, int(port)


def stays_here(listen: str, setting: str) -> bool:
    """Whether only this machine can reach an address.

    Raises:
        ConfigError: it is none; names the setting.
    """
    host, _ = address_in(listen, setting)
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


async def serve(
    app: AsgiApp,
    listen: str,
    setting: str = "gateway.listen",
    begun: Callable[[int], None] = lambda port: None,
    front: ListenerFront = ListenerFront(),  # noqa: B008 - a frozen value
) -> None:
    """Listen until cancelled. `begun` is called with the port once it can be reached: port 0 is any that is free.
    Who is connected then is let go, and whose answer is under way with its end.

    Raises:
        ConfigError: `listen` is no address, or it cannot be had; the certificate cannot be read.
        MissingPart: uvicorn is not installed.
    """
    host, port = address_in(listen, setting)
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingPart(f"Listening at {listen}", "gateway") from error

    class Server(uvicorn.Server):
        """A server that leaves the signals to whoever began it, and says when it can be reached."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """A gateway has its own way to end."""
            yield

        async def startup(self, sockets: Any = None) -> None:
            """Listen, then say so."""
            await super().startup(sockets)
            if self.started:
                begun(self.servers[0].sockets[0].getsockname()[1])

    server = Server(_config(app, (host, port), front))
    _log_as_ours(logging.getLogger("uvicorn"))
    try:
        await server.serve()
    except SystemExit as error:
        raise ConfigError(
            f"The address {listen} cannot be had.", then="Does something listen there already?"
        ) from error
    finally:
        listeners = getattr(server, "servers", ())
        try:
            await _let_in(listeners)
        finally:
            for listening in listeners:  # one that was cancelled leaves them open
                listening.close()
            for connection in list(server.server_state.connections):  # idle ones at once, others after their answer
                connection.shutdown()


async def _let_in(listeners: Sequence[asyncio.Server]) -> None:
    """Accept nobody any more, and have everybody who was accepted be known: asyncio goes round once until there is a
    connection, and once more until its protocol hears of it. One whose listener is closed before is left open.
    """
    for listening in listeners:
        for one in listening.sockets:
            asyncio.get_running_loop().remove_reader(one.fileno())
    for _ in range(2):
        await asyncio.sleep(0)


def _config(app: AsgiApp, address: tuple[str, int], front: ListenerFront) -> "uvicorn.Config":
    import uvicorn

    served = ServedCertificate(front.certificate) if front.certificate else None
    return uvicorn.Config(
        app,
        host=address[0].strip("[]"),
        port=address[1],
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        http=bounded(app.limits),
        ws="none",
        h11_max_incomplete_event_size=MOST_HEAD,
        limit_concurrency=app.limits.connections,
        timeout_keep_alive=5,
        log_config=None,
        proxy_headers=bool(front.proxies),
        forwarded_allow_ips=list(front.proxies),
        ssl_context_factory=(lambda *_: served.context) if served else None,
    )


def _log_as_ours(server: logging.Logger) -> None:
    """Faults go into our log; what strangers do wrong is no news, and the terminal is not theirs."""
    ours = logging.getLogger("angelia").handlers
    server.handlers = list(ours)
    server.propagate = not ours
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """An answer ends short so that nobody takes it for whole; why, whoever ended it has said."""
    return record.msg != "ASGI callable returned without completing response."
