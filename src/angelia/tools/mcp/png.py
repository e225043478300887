"""PNGs whose extras are damaged: a wrong colour profile is no reason to lose a picture."""

import struct
import zlib

_SIGN = b"\x89PNG\r\n\x1a\n"


def without_damaged_extras(data: bytes) -> bytes:
    """The same picture without ancillary chunks whose checksum is wrong; anything else comes back as it is.

    What shows pictures passes over such chunks (PNG, third edition, 13.1 and 13.3), and what opens them strictly
    refuses the whole file, though its pixels are whole.
    """
    if not data.startswith(_SIGN):
        return data
    kept, at = [_SIGN], len(_SIGN)
    while at + 12 <= len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        end = at + 12 + size
        if end > len(data):
            return data
        ancillary = bool(kind[0] & 0x20)
        whole = zlib.crc32(data[at + 4 : end - 4]) == int.from_bytes(data[end - 4 : end], "big")
        if whole or not ancillary:
            kept.append(data[at:end])
        at = end
    return b"".join([*kept, data[at:]])
