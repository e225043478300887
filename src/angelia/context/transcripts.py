"""What recordings say, as a model reads it: behind the recording, and marked as a transcript."""

from angelia.context.request import MessagePart
from angelia.core import entry as e
from angelia.core.content import Text


def with_transcripts(parts: tuple[MessagePart, ...], heard: e.Transcribed) -> tuple[MessagePart, ...]:
    """A message's parts, one for each that was said, with the transcript of each recording behind it."""
    lines = {one.part: transcript_line(one, heard.by) for one in heard.spoken}
    shown: list[MessagePart] = []
    for at, part in enumerate(parts):
        shown.append(part)
        if at in lines:
            shown.append(Text(lines[at]))
    return tuple(shown)


def transcript_line(one: e.Spoken, by: str) -> str:
    r"""What a model reads of one recording.

    >>> transcript_line(e.Spoken(0, "Buy milk."), "whisper")
    '[transcript of the recording, written down by whisper; it may hold mistakes]\nBuy milk.'
    """
    if one.why:
        return f"[what is said in the recording could not be written down: {one.why.rstrip('.')}]"
    if not one.text:
        return f"[transcript of the recording, written down by {by}: nothing is said in it]"
    return f"[transcript of the recording, written down by {by}; it may hold mistakes]\n{one.text}"
