"""Objects in a bucket that speaks S3: Amazon's, or another's at `AWS_ENDPOINT_URL`.

obstore is called in its blocking form, from threads: its coroutines end in threads of its own, which may still want the
interpreter while that is going, and then abort the whole process. No request lasts longer than `S3Patience.request_s`,
so objects go and come in parts of `PART`, and a part that was cut off is asked for again.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from msgspec import Struct

from angelia.core.errors import ConfigError, MissingPart, NotFound, StoreUnreachable
from angelia.core.text import one_line
from angelia.store.objects.port import Content, ObjectStore, StoredObject

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store

PART = 5 * 1024 * 1024
"""Bytes of a part: the least that S3 takes (Amazon S3 User Guide, "Multipart upload limits"), for slow lines."""
SINGLE = 2 * PART
"""Bytes up to which an object goes in one request, which can say that it must not be there yet."""
VARIABLES = {
    "AWS_ACCESS_KEY_ID": "access_key_id",
    "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "session_token",
    "AWS_DEFAULT_REGION": "region",
    "AWS_REGION": "region",
    "AWS_ENDPOINT_URL": "endpoint",
    "AWS_ENDPOINT_URL_S3": "endpoint",
}
"""Of two that mean the same, the later one counts."""
SECRET = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")

_NO_BUCKET = "NoSuchBucket"


class S3Patience(Struct, frozen=True):
    """Seconds to connect, for one request with all its bytes, for a request with its repeats; how often it is repeated
    at most.
    """

    connect_s: float = 5.0
    request_s: float = 60.0
    all_s: float = 90.0
    repeats: int = 3


class S3Objects:
    """See `ObjectStore`. Bytes are sent with their SHA-256, so that what was altered on the way is refused."""

    def __init__(self, address: str, environ: Mapping[str, str], patience: S3Patience | None = None) -> None:
        """Raises ConfigError for an address or an endpoint of no use, MissingPart where obstore is not installed."""
        self._address = address
        self._patience = patience or S3Patience()
        self._store = _opened(address, environ, self._patience)

    @property
    def address(self) -> str:
        """See `ObjectStore`."""
        return self._address

    def create(self, name: str, content: Content) -> bool:
        """See `ObjectStore`. A large one goes in parts, of which S3 makes an object whatever is there, so it is looked
        for first: two that create it at once may both be told so. Where names say what the bytes are, that is no loss.
        """
        from obstore.exceptions import GenericError

        if _size(content) > SINGLE:
            if self.look(name):
                return False
            self.replace(name, content)
            return True
        with self._told("store a file"):
            for left in reversed(range(self._patience.repeats)):
                try:
                    return self._create(name, content)
                except GenericError:  # obstore repeats by itself what may be done twice, and this may not
                    if not left:
                        raise
                if self.look(name):  # asked until the server answers again; the reply may have been all that was lost
                    return False
        raise AssertionError("the last try returns or raises")

    def replace(self, name: str, content: Content) -> None:
        """See `ObjectStore`."""
        import obstore

        parts = _size(content) > SINGLE
        with self._told("store a file"):
            obstore.put(self._store, name, content, use_multipart=parts, chunk_size=PART, max_concurrency=4)

    def look(self, name: str) -> StoredObject | None:
        """See `ObjectStore`."""
        import obstore

        with self._told("look for a file"):
            try:
                found = obstore.head(self._store, name)
            except FileNotFoundError as error:
                _require_bucket(error)
                return None
        return StoredObject(name, found["size"], found["last_modified"].timestamp())

    def fetch(self, name: str, take: Callable[[bytes], object]) -> None:
        """See `ObjectStore`."""
        found = self.look(name)
        if found is None:
            raise NotFound(f"{name} is not in {self._address}.")
        for start in range(0, found.size, PART):
            take(self._part(name, start, min(found.size, start + PART)))

    def list(self, folder: str) -> Iterator[StoredObject]:
        """See `ObjectStore`."""
        import obstore

        with self._told("list files"):
            for page in obstore.list(self._store, folder):
                for found in page:
                    yield StoredObject(found["path"], found["size"], found["last_modified"].timestamp())

    def move(self, name: str, to: str) -> bool:
        """See `ObjectStore`."""
        import obstore

        with self._told("move a file"):
            try:
                obstore.copy(self._store, name, to)
            except FileNotFoundError as error:
                _require_bucket(error)
                return False
            obstore.delete(self._store, name)
        return True

    def delete(self, name: str) -> None:
        """See `ObjectStore`."""
        import obstore

        with self._told("delete a file"):
            try:
                obstore.delete(self._store, name)
            except FileNotFoundError as error:  # S3 itself says nothing; others do
                _require_bucket(error)

    def _part(self, name: str, start: int, end: int) -> bytes:
        import obstore
        from obstore.exceptions import GenericError

        with self._told("read a file"):
            for left in reversed(range(self._patience.repeats)):
                try:
                    return _whole(bytes(obstore.get_range(self._store, name, start=start, end=end)), end - start)
                except (_CutOff, GenericError):
                    if not left:
                        raise
        raise AssertionError("the last try returns or raises")

    def _create(self, name: str, content: Content) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        try:
            obstore.put(self._store, name, content, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """What obstore raises says what to do about it."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError, PermissionError, _CutOff) as error:
            raise self._unreachable(what, error) from error

    def _unreachable(self, what: str, error: Exception) -> StoreUnreachable:
        why = _reason(str(error), self._patience)
        if _NO_BUCKET in str(error):
            return StoreUnreachable(
                f"There is no bucket of the name in {self._address}.",
                then="Nothing was acknowledged. Make the bucket, or mend the setting `blobs`.",
            )
        if _refused(error):
            return StoreUnreachable(
                f"{self._address} refuses to {what}.",
                why=why,
                then="Nothing was acknowledged. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be those of "
                "somebody who may read, write, list and delete there.",
            )
        return StoreUnreachable(
            f"{self._address} could not {what}.",
            why=why,
            then="Nothing was acknowledged; everything stored before is safe. Try again once it answers.",
        )


class _CutOff(Exception):
    """Fewer bytes came than were asked for."""


def open_objects(address: str, environ: Mapping[str, str]) -> ObjectStore:
    """See `OpenObjects`: `s3://bucket/prefix`."""
    return S3Objects(address, environ)


def _opened(address: str, environ: Mapping[str, str], patience: S3Patience) -> "S3Store":
    url = urlsplit(address)
    if not url.hostname or url.query or url.fragment or url.username:
        raise ConfigError(f"The setting `blobs` is {address!r}.", then="Write s3://bucket/prefix.")
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ImportError as error:
        raise MissingPart("A store of files at s3://…", "objects") from error
    given = {key: environ[name] for name, key in VARIABLES.items() if environ.get(name)}
    config = cast("S3Config", {"region": "us-east-1", **given, "checksum_algorithm": "sha256"})
    options: ClientConfig = {
        "allow_http": _plain_is_meant(given.get("endpoint", ""), environ),
        "connect_timeout": timedelta(seconds=patience.connect_s),
        "timeout": timedelta(seconds=patience.request_s),
    }
    retry: RetryConfig = {"max_retries": patience.repeats, "retry_timeout": timedelta(seconds=patience.all_s)}
    try:
        return S3Store(
            url.netloc,
            prefix=url.path.strip("/") or None,
            config=config,
            client_options=options,
            retry_config=retry,
        )
    except BaseError as error:
        raise ConfigError(f"{address} cannot be used: {one_line(str(error), 300)}") from error


def _plain_is_meant(endpoint: str, environ: Mapping[str, str]) -> bool:
    """Whether requests may go without encryption: never by accident."""
    url = urlsplit(endpoint)
    if url.scheme != "http":
        return False
    if environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes") or _is_loopback(url.hostname or ""):
        return True
    raise ConfigError(
        f"AWS_ENDPOINT_URL is {endpoint}, where files would travel unencrypted.",
        then="Use https://, or set AWS_ALLOW_HTTP=true if the network between is yours alone.",
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _reason(told: str, patience: S3Patience) -> str:
    """A sentence on what obstore tells in two parts: what it did, and with whose words it failed."""
    if found := re.search(r'message: "([^"]{1,100})"', told):
        return f"{found[1]}."
    if "kind: Timeout" in told:
        return f"It did not answer within {patience.request_s:.0f} s."
    if found := re.search(r"<Code>(\w{1,60})</Code>\s*<Message>([^<]{1,200})", told):
        return f"It says {found[1]}: “{one_line(found[2], 200)}”."
    return f"It came to “{one_line(told.partition('Debug source')[0], 300)}”."


def _require_bucket(error: Exception) -> None:
    if _NO_BUCKET in str(error):
        raise error


def _refused(error: Exception) -> bool:
    from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

    named = isinstance(error, PermissionDeniedError | UnauthenticatedError | PermissionError)
    return named or "403 Forbidden" in str(error)  # a list that is refused has no name of its own


def _whole(data: bytes, wanted: int) -> bytes:
    if len(data) != wanted:
        raise _CutOff(f"{len(data)} of {wanted} bytes came")
    return data


def _size(content: Content) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)
