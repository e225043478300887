"""The listener's own certificate: read at the start, and again once its files have changed.

Whoever renews a certificate writes two files, one after the other, and tells nobody. So the files are looked at when a
connection begins, and a pair that does not fit is not taken: the last one that did goes on.
"""

import logging
import ssl
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from angelia.core.errors import ConfigError

logger = logging.getLogger("angelia.listener")


class CertificateFiles(Struct, frozen=True):
    """PEM files: the certificate, with those between it and the authority behind it, and its private key."""

    certificate: Path
    key: Path


class _Connection(Protocol):
    """A connection that begins, as the callback is given it."""

    context: ssl.SSLContext


class ServedCertificate:
    """What a listener speaks TLS with.

    Raises:
        ConfigError: the files cannot be read, or are no such pair.
    """

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._seen = self._times()
        self._newest = tls_context(files)
        self.context = tls_context(files)
        """For the listener. It hands each connection on to the newest pair."""
        self.context.sni_callback = self._begin

    def _begin(self, connection: _Connection, name: str | None, context: ssl.SSLContext) -> None:
        """A connection begins, whether or not it names whom it wants."""
        if (times := self._times()) != self._seen:
            self._seen = times
            try:
                self._newest = tls_context(self._files)
            except ConfigError as error:
                logger.warning("the new certificate is not taken, the one before goes on: %s", error)
        connection.context = self._newest

    def _times(self) -> tuple[int, ...]:
        """When the files changed (nanoseconds); 0 for one that is not there."""
        found = []
        for path in (self._files.certificate, self._files.key):
            try:
                found.append(path.stat().st_mtime_ns)
            except OSError:
                found.append(0)
        return tuple(found)


def tls_context(files: CertificateFiles) -> ssl.SSLContext:
    """TLS 1.2 and newer, HTTP/1.1, with this pair.

    Raises:
        ConfigError: the files cannot be read, or are no such pair.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    for path in (files.certificate, files.key):
        try:
            path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}.", "It is needed for TLS.") from error
    try:
        context.load_cert_chain(files.certificate, files.key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"{files.certificate} and {files.key} are no certificate with its key.",
            getattr(error, "reason", None) or str(error),
            "Expected PEM; the key without a passphrase.",
        ) from error
    return context
