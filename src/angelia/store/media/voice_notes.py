"""Sounds of any format made one voice note: Ogg with Opus, mono, with its length and how its loudness goes; or WAV."""

import io
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from angelia.core.errors import BadInput

if TYPE_CHECKING:
    import av

RATE = 48_000
"""Samples a second: Opus has no other inside (RFC 7845, 5.1), so nothing is resampled twice."""

BITS = 32_000
"""Bits a second: wideband speech is transparent from 24,000 on (RFC 7587, 3.1.1 recommends 16,000 to 40,000)."""

POINTS = 256
"""Points of a waveform at most: what Discord takes; other networks take fewer or do not say."""

_STEP = RATE // 10
"""Samples for which one peak is kept: a tenth of a second."""

_FRAME = 960
"""Samples of one packet: 20 ms, which Opus codes best (RFC 6716, 2.1.4)."""

_MOST_S = 1800
"""Seconds of sound in one voice note: half an hour, twice what the longest text takes."""

PAUSE_S = 0.25
"""Seconds of silence between two sounds: as between two sentences."""


class EncodedVoice(Struct, frozen=True):
    """A voice note. `lengths` are the seconds of each sound of which it was made, without the pauses between them.

    `peaks` has one byte for each stretch of the same length, from 0 for silence to 255 for the loudest there can be.
    """

    data: bytes
    seconds: float
    peaks: bytes
    lengths: tuple[float, ...]


def encode_voice(sounds: Sequence[bytes]) -> EncodedVoice:
    """One voice note of several sounds, each of any format that is known by its content; decoded and encoded once.

    Raises:
        BadInput: one of them cannot be decoded, has no sound in it, or is longer than half an hour.
    """
    import av

    file, loudness, lengths, written = io.BytesIO(), _Loudness(), list[float](), 0
    with av.open(file, "w", format="ogg") as out:
        stream: Any = out.add_stream("libopus", rate=RATE, layout="mono", options={"application": "voip"})
        stream.bit_rate = BITS
        for number, data in enumerate(sounds):
            before = written
            pieces = (_silence() if number else ()), _samples(data, number)
            for position, samples in enumerate(pieces):
                before = written if position else before
                for frame in samples:
                    loudness.add(bytes(frame.planes[0])[: frame.samples * 2])
                    frame.pts = written
                    written += frame.samples
                    out.mux(stream.encode(frame))
            lengths.append(round((written - before) / RATE, 3))
        out.mux(stream.encode(None))
    return EncodedVoice(file.getvalue(), round(written / RATE, 3), loudness.peaks(), tuple(lengths))


def as_wav(data: bytes) -> bytes:
    """A sound of any format as WAV, mono, which every program plays.

    Raises:
        BadInput: as `encode_voice`.
    """
    import wave

    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        for frame in _samples(data, 0):
            out.writeframesraw(bytes(frame.planes[0])[: frame.samples * 2])
    return file.getvalue()


def _samples(data: bytes, number: int) -> "Iterator[av.AudioFrame]":
    """What a sound holds, as frames of 16 bits, mono, at our rate."""
    import av

    length = 0
    try:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE, frame_size=_FRAME)
        with av.open(io.BytesIO(data), "r") as sound:
            if not sound.streams.audio:
                raise _not_sound(number, "there is no sound in it")
            sound.streams.audio[0].codec_context.thread_count = 1  # where it runs, no threads are begun
            for decoded in sound.decode(audio=0):
                for frame in resampler.resample(decoded):
                    length += frame.samples
                    if length > _MOST_S * RATE:
                        raise BadInput(
                            "The sound is longer than half an hour, which no voice note is.", then="Say less."
                        )
                    yield frame
            yield from resampler.resample(None)
    except (av.FFmpegError, ValueError) as error:
        raise _not_sound(number, str(error)) from error


def _not_sound(number: int, why: str) -> BadInput:
    return BadInput(f"Sound number {number + 1} cannot be decoded: {why}.")


def _silence() -> "Iterator[av.AudioFrame]":
    import av

    frame = av.AudioFrame(format="s16", layout="mono", samples=int(PAUSE_S * RATE))
    frame.sample_rate = RATE
    frame.planes[0].update(bytes(frame.planes[0].buffer_size))
    yield frame


class _Loudness:
    """The loudest sample of each tenth of a second, as sound goes by."""

    def __init__(self) -> None:
        self._peaks: list[int] = []
        self._open, self._left = 0, _STEP

    def add(self, samples: bytes) -> None:
        """More of it: 16 bits a sample, in this machine's order."""
        values = array("h", samples)
        at = 0
        while at < len(values):
            part = values[at : at + self._left]
            self._open = max(self._open, max(part), -min(part))
            at, self._left = at + len(part), self._left - len(part)
            if not self._left:
                self._peaks.append(self._open)
                self._open, self._left = 0, _STEP

    def peaks(self) -> bytes:
        """The whole, in at most `POINTS` points."""
        peaks = [*self._peaks, self._open] if self._left < _STEP else self._peaks
        count = min(len(peaks), POINTS)
        edges = [len(peaks) * index // count for index in range(count + 1)] if count else []
        return bytes(min(max(peaks[start:end]) // 128, 255) for start, end in pairwise(edges))
