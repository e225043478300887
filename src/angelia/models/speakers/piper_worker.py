"""`python -P -m angelia.models.speakers.piper_worker VOICE.onnx`: lines of text come in, sound goes out, until the end.

Each answer is one byte (`s` for sound, `e` for an error), its length in four, and then WAV or the error's words. It
ends when its input does: with the process that began it.
"""

import io
import sys
import wave
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from piper import PiperVoice


def spoken(voice: "PiperVoice", text: str) -> bytes:
    """A text as WAV."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        voice.synthesize_wav(text, sound)
    return file.getvalue()


def main(path: str) -> None:
    """Answer every line."""
    from piper import PiperVoice

    voice = PiperVoice.load(path)
    for line in sys.stdin.buffer:
        try:
            sign, answer = b"s", spoken(voice, line.decode())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to the person
            sign, answer = b"e", f"{type(error).__name__}: {error}".encode()
        sys.stdout.buffer.write(sign + len(answer).to_bytes(4) + answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
