"""Logins as they are kept beyond a browser's life: cookies, and what sites keep in their scripts' storage."""

from collections.abc import Mapping

from msgspec import Struct

from angelia.browsers.cookies import Cookie


class SiteStorage(Struct, frozen=True):
    """What a site (scheme, host, port) keeps by its scripts: in `localStorage` pairs in the order of their names.

    `databases` is what it has in IndexedDB, as text that `databases.js` writes and reads; empty if there is nothing.
    """

    origin: str
    items: tuple[tuple[str, str], ...]
    databases: str = ""


class KeptLogins(Struct, frozen=True):
    """Those of one profile."""

    cookies: tuple[Cookie, ...] = ()
    storage: tuple[SiteStorage, ...] = ()

    def became(self, cookies: tuple[Cookie, ...], storage: Mapping[str, SiteStorage]) -> "KeptLogins":
        """With the cookies of now; a site's storage is what it was where no page of it could be asked.

        >>> one, two = (SiteStorage(f"https://{name}.example", (("token", "1"),)) for name in "ab")
        >>> before = KeptLogins(storage=(one, two))
        >>> after = before.became((), {two.origin: SiteStorage(two.origin, ())})
        >>> [one.origin for one in after.storage]
        ['https://a.example']
        """
        every = {one.origin: one for one in self.storage} | dict(storage)
        return KeptLogins(
            cookies, tuple(every[name] for name in sorted(every) if every[name].items or every[name].databases)
        )
