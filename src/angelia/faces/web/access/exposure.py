"""How far the page is reached, and what has to stand before it where that is beyond this machine."""

from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from angelia.core.errors import ConfigError
from angelia.faces.listener.certificate import CertificateFiles
from angelia.faces.listener.serve import ListenerFront, address_in, stays_here
from angelia.service.settings.config import WebSettings

SETTING = "web.listen"
_HOW = "`angelia docs web-from-elsewhere` says how."


class Exposure(Struct, frozen=True):
    """Where the page listens, and under which origins it answers. `origin` is the one that browsers elsewhere open,
    empty where only this machine reaches the page.
    """

    listen: str
    origin: str = ""
    front: ListenerFront = ListenerFront()

    def origins(self, port: int) -> frozenset[str]:
        """All under which it is asked, once it listens at a port. Where our own listener stays on this machine and
        speaks plain HTTP, this machine's programs go on asking it directly.
        """
        host, _ = address_in(self.listen, SETTING)
        own = {f"http://{name}:{port}" for name in (host, "localhost", "127.0.0.1", "[::1]")}
        plain = stays_here(self.listen, SETTING) and self.front.certificate is None
        return frozenset(own if plain else ()) | ({self.origin} if self.origin else set())

    def address(self, port: int) -> str:
        """The one to open."""
        return self.origin or f"http://localhost:{port}"


def exposure(settings: WebSettings, listen: str) -> Exposure:
    """What the settings make of an address, which has precedence over theirs.

    Raises:
        ConfigError: others could reach the page, and something is missing that has to stand before it; or a setting is
            none.
    """
    front = ListenerFront(_certificate(settings), tuple(_network(one) for one in settings.proxies))
    here = stays_here(listen, SETTING)
    if here and not settings.origin and front == ListenerFront():
        return Exposure(listen)
    if front == ListenerFront():
        raise ConfigError(
            f"{SETTING} is {listen!r}{f' and web.origin {settings.origin!r}' if here else ''}, and nothing encrypts.",
            "Whoever has the page can do all that you can; words and cookies would go over the network as they are.",
            "Set web.certificate and web.certificate_key, or name the proxy that does it in web.proxies; or listen at "
            f"127.0.0.1 and let a tunnel bring others here (ssh -L). {_HOW}",
        )
    if not settings.origin:
        raise ConfigError(
            f"{SETTING} is {listen!r}, and web.origin is not set.",
            "The page answers under names that it knows, and to no others.",
            f"Set it to what browsers open, such as https://angelia.example.org. {_HOW}",
        )
    return Exposure(listen, _origin(settings.origin), front)


def _certificate(settings: WebSettings) -> CertificateFiles | None:
    if bool(settings.certificate) != bool(settings.certificate_key):
        raise ConfigError(
            "Of web.certificate and web.certificate_key one is set.",
            "A certificate goes with its private key.",
            "Set both, or neither.",
        )
    if not settings.certificate:
        return None
    return CertificateFiles(Path(settings.certificate).expanduser(), Path(settings.certificate_key).expanduser())


def _network(given: str) -> str:
    try:
        found = ip_network(given)
    except ValueError as error:
        raise ConfigError(
            f"web.proxies has {given!r}, which is no IP address and no network.", str(error), "Such as 127.0.0.1."
        ) from error
    if found.prefixlen == 0:
        raise ConfigError(
            f"web.proxies has {given!r}, which is everybody.",
            "A proxy is believed who asks, so that all could be anybody.",
            "Name the proxy's own address.",
        )
    return given


def _origin(given: str) -> str:
    parts = urlsplit(given)
    try:
        port = parts.port
    except ValueError:
        port = -1
    named = parts.hostname or ""
    host = f"[{named}]" if ":" in named else named
    origin = f"https://{host}" + (f":{port}" if port not in (None, 443) else "")
    if (
        parts.scheme != "https"
        or not host
        or port == -1
        or parts.path not in ("", "/")
        or parts.query
        or parts.username
    ):
        raise ConfigError(
            f"web.origin is {given!r}.", "Expected what browsers open, such as https://angelia.example.org."
        )
    return origin
