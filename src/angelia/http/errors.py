"""How an exchange over HTTP comes to nothing; each name has its twin in httpx2 (`transport.py`)."""


class HttpError(Exception):
    """It came to nothing; whether the server has acted on the request is unknown unless a subclass says so."""


class UnsupportedProtocol(HttpError):
    """The address begins with neither http:// nor https://; nothing was sent."""


class LocalProtocolError(HttpError):
    """The request cannot be written down; nothing was sent."""


class ConnectError(HttpError):
    """There is no connection; nothing was sent. Its cause is the system's error, or that of TLS."""


class ConnectTimeout(HttpError):
    """No connection in time; nothing was sent."""


class WriteTimeout(HttpError):
    """The server takes nothing in."""


class ReadTimeout(HttpError):
    """The server has fallen silent."""


class ReadError(HttpError):
    """The connection broke."""


class RemoteProtocolError(HttpError):
    """What the server sends is no reply, or only a part of one."""


def error_named(name: str, said: str) -> HttpError:
    """The error of this name; a plain one for a name that is none of ours."""
    return next((kind for kind in HttpError.__subclasses__() if kind.__name__ == name), HttpError)(said)
