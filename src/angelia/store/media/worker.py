"""The process that opens one medium: it is handed a file, answers, and ends.

Pictures and PDFs come from strangers, and what decodes them is written in C. So each is opened in a process of its own,
which holds no other's bytes, has no files, limits of memory and processor, and on Linux cannot gain rights. What starts
it (`store.media.processes`) keeps the time, and confines it further where it is handed a way to.
"""

import math
import os
import resource
import socket
import sys
from contextlib import suppress
from typing import BinaryIO

import msgspec

from angelia.core.errors import BadInput
from angelia.store.media.documents import count_pages, read_pages
from angelia.store.media.jobs import (
    ANSWERED,
    LENGTH,
    NO_MEMORY,
    REFUSED,
    TAKEN,
    CountPages,
    DecodeSound,
    EncodeVoice,
    FindTransparency,
    JobRefusal,
    MeasurePicture,
    MediaJob,
    MediaType,
    ReadPages,
    RedrawPicture,
)
from angelia.store.media.pictures import check, is_transparent, redraw
from angelia.store.media.voice_notes import as_wav, encode_voice

IDLE_S = 20.0
"""How long a process that was started in advance waits for its medium before it ends."""

_WHOLE = 64_000_000
"""Bytes up to which a file is read at once; a larger one is read where it is needed."""

_BEFORE_S = 5
"""Seconds of a processor that loading the libraries may take, at most."""

_FILES = 32
"""Descriptors that may be open; loading a library takes three or four at a time."""

_MOST_JOB = 64 * 1024

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
"""linux/prctl.h"""
_SIGKILL = 9


def main() -> None:
    """Wait for one job on descriptor 0, a Unix socket, and answer it there. The words of the command line are the type
    of media, the seconds of processor time, and the bytes of memory.
    """
    of = MediaType(sys.argv[1])
    _limit(math.ceil(float(sys.argv[2])) + _BEFORE_S, int(sys.argv[3]))
    _load(of)
    with socket.socket(fileno=0) as asker:
        asker.settimeout(IDLE_S)
        try:
            job, file = _received(asker)
        except (TimeoutError, EOFError):
            return
        asker.settimeout(None)
        with suppress(OSError), file:  # whoever asked may be gone
            asker.sendall(TAKEN)
            sign, answer = _answered(job, file)
            asker.sendall(sign + len(answer).to_bytes(LENGTH))
            asker.sendall(answer)


def _received(asker: socket.socket) -> tuple[MediaJob, BinaryIO]:
    message, handles, _, _ = socket.recv_fds(asker, _MOST_JOB, 1)
    while len(message) < LENGTH or len(message) < LENGTH + int.from_bytes(message[:LENGTH]):
        more = asker.recv(_MOST_JOB)
        if not more:
            raise EOFError
        message += more
    return msgspec.msgpack.decode(message[LENGTH:], type=MediaJob), os.fdopen(handles[0], "rb")


def _answered(job: MediaJob, file: BinaryIO) -> tuple[bytes, bytes]:
    try:
        return ANSWERED, msgspec.msgpack.encode(_done(job, file))
    except BadInput as error:
        return REFUSED, msgspec.msgpack.encode(JobRefusal(error.what, error.why, error.then))
    except MemoryError:
        return NO_MEMORY, b""


def _done(job: MediaJob, file: BinaryIO) -> object:
    whole = os.fstat(file.fileno()).st_size <= _WHOLE
    source = file.read() if whole else file
    match job:
        case MeasurePicture(name=name):
            return check(source, name)
        case FindTransparency(name=name):
            return is_transparent(source, name)
        case RedrawPicture(long_edge=long_edge, name=name):
            return redraw(source, long_edge, name)
        case CountPages(name=name):
            return count_pages(source, name)
        case ReadPages(long_edge=edge, most_text=text, most_pictures=pictures, name=name):
            return read_pages(source, long_edge=edge, most_text=text, most_pictures=pictures, name=name)
        case EncodeVoice(sizes=sizes):
            file.seek(0)
            return encode_voice([file.read(size) for size in sizes])
        case DecodeSound():
            file.seek(0)
            return as_wav(file.read())


def _load(of: MediaType) -> None:
    """What the job will need, while nobody waits for it."""
    if of is MediaType.PICTURE:
        from PIL import AvifImagePlugin, Image, ImageOps  # noqa: F401 - loaded in advance

        AvifImagePlugin.DEFAULT_MAX_THREADS = 1
        Image.preinit()
    elif of is MediaType.PDF:
        import pypdfium2  # noqa: F401 - loaded in advance
    else:
        import av  # noqa: F401 - loaded in advance


def _limit(seconds: int, memory: int) -> None:
    """From here on: no files written, no core left, no processes begun, bounded memory and processor, and on Linux no
    rights gained.
    """
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_NPROC, 0),  # neither processes nor threads; root is not held to it
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
    ):
        with suppress(OSError, ValueError):  # less is allowed already, or this system has no such limit
            resource.setrlimit(what, (most, most))
    if sys.platform == "linux":
        import ctypes

        prctl = ctypes.CDLL(None).prctl
        for option, value in ((_PR_SET_PDEATHSIG, _SIGKILL), (_PR_SET_DUMPABLE, 0), (_PR_SET_NO_NEW_PRIVS, 1)):
            prctl(option, value, 0, 0, 0)
