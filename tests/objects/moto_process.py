"""A process with moto's S3, one request at a time; says its port.

moto answers each request in a thread of its own, and looks for an object before it puts it, without a lock: of several
who create one, two may be told that they did, which S3 promises not to do ("Conditional writes").
"""

from collections.abc import Iterable
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


class OneAtATime:
    """moto behind a lock; whoever sends slowly holds up nobody."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = Lock()

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """One request, which has come whole."""
        environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
        with self._lock:
            reply: Iterable[bytes] = self._app(environ, start_response)
            return reply


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, OneAtATime(), threaded=True, request_handler=MotoRequestHandler)
    print(server.port, flush=True)
    server.serve_forever()
