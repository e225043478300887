"""Whose a page is: the origin of its address (RFC 6454)."""

from urllib.parse import urlsplit


def origin(url: str) -> str:
    """Scheme, host and port; empty for what has no host, such as `about:blank`.

    >>> origin("https://example.com:8443/a?b"), origin("about:blank")
    ('https://example.com:8443', '')
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""
