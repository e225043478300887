"""Asking a server again that turned us away a moment ago: it was busy, or just ending somebody's connection."""

import threading
from collections.abc import Callable
from typing import TypeVar

from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.faults import gone

T = TypeVar("T")

TRIES = 3
_PAUSE_S = 0.2
"""Before the second try; three times as long before the third."""


def with_connection(address: str, work: Callable[[PostgresConnection], T]) -> T:
    """What `work` gives on a connection to `address` that is let go of then. It is run again where that is lost.

    Raises:
        psycopg.Error: as `asked_again`. And whatever `work` raises.
    """

    def ask() -> T:
        connection = PostgresConnection.open(address)
        try:
            return work(connection)
        finally:
            connection.close()

    return asked_again(ask)


def asked_again(ask: Callable[[], T]) -> T:
    """What `ask` gives, which is tried up to three times within a second if the server refuses or hangs up.

    Raises:
        psycopg.Error: it did so each time. At the first time: it said nothing at all for five seconds, it lets us in
            by no means (a password, a name), or has another complaint.
    """
    import psycopg

    for number in range(1, TRIES):
        try:
            return ask()
        except psycopg.errors.ConnectionTimeout:
            raise
        except psycopg.Error as error:
            if not gone(error):
                raise
            threading.Event().wait(_PAUSE_S * 3 ** (number - 1))
    return ask()
