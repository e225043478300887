"""A message that was taken back, as it is written anew: its words, and what was attached to it."""

from pathlib import Path

from angelia.context.media_forms import label
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.faces.words.mentions import mentioned_files


def to_be_written_anew(said: e.UserSaid, folder: Path) -> tuple[str, tuple[Content, ...]]:
    """The words, and what was attached without being named in them: what they name is read again when they go."""
    first, *more = said.parts
    words, rest = (first.text, more) if isinstance(first, Text) else ("", said.parts)
    named = {path.name for path in mentioned_files(words, folder)}
    return words, tuple(
        part for part in rest if (not said.forwarded if isinstance(part, Text) else part.name not in named)
    )


def name_of(part: Content) -> str:
    """What stands above the input for something that is attached."""
    return part.text if isinstance(part, Text) else part.name or label(part)
