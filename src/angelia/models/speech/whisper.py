"""`python -P -m angelia.models.speech.whisper MODEL FILE [LANGUAGE]`: what is said in a recording, by faster-whisper.

It runs in a process of its own: its 300 MB and more are there only while it listens, and a recording that it dies of
takes nobody along.
"""

import logging
import sys


def written(model: str, recording: str, language: str = "") -> str:
    """What is said, one line a passage; pauses are left out. Without a `language` (ISO 639-1) it is found out."""
    from faster_whisper import WhisperModel

    loaded = WhisperModel(model, device="auto", compute_type="auto")
    if language not in ("", "en") and not loaded.model.is_multilingual:  # it would write down English of its own
        sys.exit(f'{model} knows English alone, and `language` is "{language}": name a model without .en, such as base')
    heard, _ = loaded.transcribe(recording, language=language or None, vad_filter=True)
    return "\n".join(passage.text.strip() for passage in heard)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    try:
        sys.stdout.write(written(*sys.argv[1:]))
    except Exception as error:  # noqa: BLE001 - whatever it is, its last line is told to the person
        sys.stderr.write(f"{type(error).__name__}: {error}")
        sys.exit(1)
