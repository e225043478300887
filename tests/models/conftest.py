"""The loopback server and its client, as the tests of the HTTP floor have them."""

from tests.http.conftest import http, server

__all__ = ["http", "server"]
