"""Fetches a URL from the web, or posts to one, connecting to the very address that the egress policy has judged."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from angelia.core.errors import AngeliaError, BadInput, PolicyDenied
from angelia.policy.verdict import Allow, Deny
from angelia.tools.port import NO_HEADERS, Fetched, OriginHeaders

if TYPE_CHECKING:
    import ssl

    import httpx2

T = TypeVar("T")

MB = 1_000_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "angelia", "Connection": "close"}

JudgeUrl = Callable[[str], Allow | Deny]
JudgeAddress = Callable[[str], Allow | Deny]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Turns a host's name and a port into IP addresses, the preferred one first."""


class FetchFailed(AngeliaError):
    """The page could not be had: no such host, no connection, silence, or a broken reply."""


class FetchTooLarge(FetchFailed):
    """The body is over the limit; fetching it again will fail again."""


class FetchLimits(Struct, frozen=True):
    """`body` is bytes after decompression; times are seconds: to connect, of silence, and for everything."""

    body: int = 20 * MB
    connect: float = 10.0
    silence: float = 30.0
    total: float = 120.0
    redirects: int = 10


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """Ask this machine's resolver.

    Raises:
        OSError: there is no such name, or nobody answers.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class Fetcher:
    """GETs URLs under an egress policy.

    Every name is resolved once per hop; all its addresses are judged, and the connection goes to one of these, with
    the name kept for the Host header and for TLS. So a name that answers differently the next time changes nothing.
    Redirects are followed one by one under the same rules. Proxies of the environment are not used: behind one,
    nobody could tell which address is reached.
    """

    def __init__(
        self,
        judge_url: JudgeUrl,
        judge_address: JudgeAddress,
        *,
        resolve: Resolve = resolve_name,
        limits: FetchLimits = FetchLimits(),  # noqa: B008  frozen
    ) -> None:
        self._judge_url, self._judge_address = judge_url, judge_address
        self._resolve, self._limits = resolve, limits
        self._tls: asyncio.Future[ssl.SSLContext] | None = None

    async def fetch(self, url: str, own: OriginHeaders = NO_HEADERS) -> Fetched:
        """The response at `url` after redirects, whatever its status; `mime` is its Content-Type as it came.

        The headers of `own` are sent to its origin, until a redirect leads elsewhere: not even when one leads back.

        Raises:
            PolicyDenied: the policy refuses the URL, an address behind it, or a redirect's.
            BadInput: this is not a URL.
            FetchTooLarge: the body is over `limits.body`.
            FetchFailed: no such host, no connection, a time-out, too many redirects, a broken reply.
        """
        try:
            async with asyncio.timeout(self._limits.total):
                return await self._follow(url, own)
        except TimeoutError:
            raise FetchFailed(
                f"{url} was not done after {self._limits.total:g} seconds.", then="Try again later, or another source."
            ) from None

    async def _follow(self, url: str, own: OriginHeaders) -> Fetched:
        import httpx2

        try:
            here = httpx2.URL(url)
        except (httpx2.InvalidURL, UnicodeError) as fault:
            raise BadInput(f"{url!r} is not a URL.", str(fault)) from None
        for _ in range(self._limits.redirects + 1):
            if own.origin != origin_sent_to(here):
                own = NO_HEADERS
            answer = await self._get(here, own.headers)
            if isinstance(answer, Fetched):
                return answer
            here = answer
        raise FetchFailed(f"{url} leads on and on: more than {self._limits.redirects} redirects.")

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> int:
        """Give something to whoever listens at `url`: the status of the answer, whose body is not read. A redirect is
        an answer like any other, and not followed.

        Raises:
            PolicyDenied, BadInput, FetchFailed: as `fetch`.
        """
        import httpx2

        try:
            async with asyncio.timeout(self._limits.total):
                return await self._asked("POST", httpx2.URL(url), headers, _status, content)
        except (httpx2.InvalidURL, UnicodeError) as fault:
            raise BadInput(f"{url!r} is not a URL.", str(fault)) from None
        except TimeoutError:
            raise FetchFailed(f"{url} was not done after {self._limits.total:g} seconds.") from None

    async def _get(self, url: "httpx2.URL", own: Mapping[str, str]) -> "Fetched | httpx2.URL":
        """One hop: the response, or where it leads."""
        return await self._asked("GET", url, own, lambda response: self._take(url, response))

    async def _asked(
        self,
        method: str,
        url: "httpx2.URL",
        own: Mapping[str, str],
        take: "Callable[[httpx2.Response], Awaitable[T]]",
        content: bytes | None = None,
    ) -> T:
        """What is taken of the response of the first address that takes the connection."""
        import httpx2

        addresses = await self.judged_addresses(url)
        secure = url.scheme == "https"
        limits = self._limits
        async with httpx2.AsyncClient(
            verify=await self.tls() if secure else _no_tls(),
            trust_env=False,
            timeout=httpx2.Timeout(limits.silence, connect=limits.connect),
        ) as client:
            for address in addresses:
                request = client.build_request(
                    method,
                    url.copy_with(host=address, fragment=None),
                    content=content,
                    headers={**_HEADERS, **own, "Host": url.netloc.decode("ascii")},
                    extensions={"sni_hostname": url.raw_host.decode("ascii")},
                )
                try:
                    response = await client.send(request, stream=True)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as fault:
                    failure: httpx2.HTTPError = fault
                    continue
                except httpx2.HTTPError as fault:
                    raise _failed(url, fault) from fault
                try:
                    return await take(response)
                except httpx2.HTTPError as fault:
                    raise _failed(url, fault) from fault
                finally:
                    await response.aclose()
            raise _failed(url, failure) from failure

    async def judged_addresses(self, url: "httpx2.URL") -> Sequence[str]:
        """The addresses behind a URL, if the policy allows every one of them.

        Raises:
            PolicyDenied: it does not.
            FetchFailed: there is no such host.
        """
        host, port = url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
        return await self.addresses_behind(str(url), host, port)

    async def addresses_behind(self, url: str, host: str, port: int) -> Sequence[str]:
        """The addresses behind a URL of this host and port; see `judged_addresses`."""
        _demand(self._judge_url(url), url)
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as fault:
            raise FetchFailed(f"The name {host} cannot be resolved.", str(fault), "Check the spelling.") from fault
        if not addresses:
            raise FetchFailed(f"The name {host} has no address.")
        # One refused address refuses them all: a public name that also answers with a private address is a trick.
        for address in addresses:
            _demand(self._judge_address(address), url)
        return addresses

    async def _take(self, url: "httpx2.URL", response: "httpx2.Response") -> "Fetched | httpx2.URL":
        if response.status_code in _REDIRECTS and "location" in response.headers:
            import httpx2

            try:
                return url.join(response.headers["location"])
            except (httpx2.InvalidURL, UnicodeError) as fault:
                raise FetchFailed(f"{url} redirects to something that is not a URL.", str(fault)) from None
        limit, size, chunks = self._limits.body, 0, []
        promised = response.headers.get("content-length", "")
        if promised.isdigit() and int(promised) > limit:
            raise _too_large(url, int(promised), limit)
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > limit:
                raise _too_large(url, size, limit)
            chunks.append(chunk)
        return Fetched(str(url), response.status_code, response.headers.get("content-type", ""), b"".join(chunks))

    async def tls(self) -> "ssl.SSLContext":
        """The TLS context with the system's authorities, loaded once, in a thread: it takes 31 ms."""
        import httpx2

        if self._tls is None or (self._tls.done() and self._tls.exception()):  # out of descriptors, for a moment
            self._tls = asyncio.ensure_future(asyncio.to_thread(httpx2.create_ssl_context))
        return await asyncio.shield(self._tls)


def origin_sent_to(url: "httpx2.URL") -> str:
    """Scheme, host and port to which a request for this URL goes, as secrets are kept for them; no port if it is the
    scheme's own.
    """
    host = url.raw_host.decode("ascii").lower()
    shown = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{shown}" + (f":{url.port}" if url.port else "")


async def _status(response: "httpx2.Response") -> int:
    return response.status_code


def _no_tls() -> "ssl.SSLContext":
    """A bare context, for a connection that will not use it: the client loads authorities otherwise."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _demand(verdict: Allow | Deny, url: str) -> None:
    if isinstance(verdict, Deny):
        raise PolicyDenied(f"{url} is not reached.", verdict.reason)


def _failed(url: "httpx2.URL", fault: "httpx2.HTTPError") -> FetchFailed:
    kind = " ".join(part for part in (type(fault).__name__, str(fault)) if part)
    return FetchFailed(f"{url} could not be fetched.", f"{kind}.", "Try again later, or another source.")


def _too_large(url: "httpx2.URL", size: int, limit: int) -> FetchTooLarge:
    return FetchTooLarge(
        f"{url} is {size / MB:.1f} MB or more, and at most {limit / MB:.0f} MB are fetched.",
        then="Fetch a smaller page, or download it with a command.",
    )
