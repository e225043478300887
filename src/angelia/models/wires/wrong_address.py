"""Answers that are certain to be the same the next time: no model server is where the vendor's address leads."""

import re
import ssl

from angelia.core.failure import Failure, FailureKind
from angelia.core.text import clean, one_line, shorten
from angelia.http.errors import UnsupportedProtocol

_THEN = "Check base_url in [vendors] of config.toml, or the vendor's …_BASE_URL in the environment"


def no_model_server(url: str, what: str, status: int = 0) -> Failure:
    """The failure, in whole sentences: `what` is found at `url`, and what to look at."""
    said = clean(f"There is no model server at {url}. {what} {_THEN}; it often ends in /v1.")
    return Failure(FailureKind.WRONG_ADDRESS, one_line(shorten(said, 500), 500), status)


def certain(error: Exception, base_url: str) -> str:
    """What a request that failed without an answer says about its address, in a sentence; empty if it may succeed
    another time.
    """
    refusal = _of_tls(error)
    if isinstance(refusal, ssl.SSLCertVerificationError):
        return f"Its certificate cannot be trusted: {refusal.verify_message}."
    if refusal is not None and refusal.reason in _NO_TLS and base_url.startswith("https:"):
        return "It does not speak TLS: the address begins with https:// and perhaps should with http://."
    if isinstance(error, UnsupportedProtocol):
        return f"{error}"
    return ""


_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"})
"""How OpenSSL names an answer in plain text (`ssl.SSLError.reason`)."""


def _of_tls(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__ or error.__context__
    return None


def page_title(page: bytes) -> str:
    """The title of a web page, in quotes and with a comma before it; empty without one."""
    found = re.search(rb"<title[^>]*>(.*?)</title>", page[:4000], re.IGNORECASE | re.DOTALL)
    title = one_line(clean(found[1].decode(errors="replace")), 100) if found else ""
    return f", “{title}”" if title else ""
