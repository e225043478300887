"""What is said to the person: the words of replies, without the lines of files that go out beside them; pure."""

from collections.abc import Collection, Sequence

from angelia.context.media_lines import without_files
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import CallId


def words_of(said: e.ModelSaid) -> str:
    """The words of one reply, as it was written."""
    return "".join(part.text for part in said.parts if isinstance(part, Text))


def said_text(log: Sequence[e.Entry], replies: Sequence[int], unsent: Collection[CallId] = ()) -> str:
    """The text of these replies: what was cut goes on where it stopped, whole ones stand apart.

    A file that a reply names is left out of its words, unless it is one of the calls in `unsent`.
    """
    whole: list[str] = []
    joins = False
    for entry in log[min(replies) - 1 :] if replies else ():
        match entry.fact:
            case e.ModelSaid(stop=stop) if entry.seq in replies:
                words = words_of(entry.fact)
                if joins:
                    whole[-1] += words
                else:
                    whole.append(words)
                joins = stop in (e.StopReason.LENGTH, e.StopReason.PAUSE)
            case e.FilesNamed(files=files) if entry.seq - 1 in replies:  # one commit with the reply that names them
                sent = {file.place for file in files if file.call.id not in unsent}
                whole[-1] = without_files(whole[-1], sent)
            case _:
                pass
    return "\n\n".join(text for text in whole if text.strip())
