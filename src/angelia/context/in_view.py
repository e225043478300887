"""Whose words a model has in view: a person's own, and those that nobody answers for.

Where both stand in one request, somebody else's words can have private ones sent away: in the address of a page, in
that of a picture, by a command on the network. The policy asks then. What a summary stands for counts as in view,
since the summary was written from it; so both, once there, stay to the end of the conversation.
"""

from collections.abc import Sequence

from msgspec import Struct

from angelia.context.known_urls import urls_in
from angelia.context.own_words import INSTRUCTIONS, by_program, quotes
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.ids import CallId
from angelia.core.principal import OWNER, Principal

_OWN_WORDS = frozenset(
    {
        *("ask_user", "edit", "recall", "remember", "schedule", "schedules", "send_file", "todo", "unschedule"),
        *("delegate", "helper", "stay_silent", "use_skill", "write"),
    }
)
"""Tools whose results are the person's words, words that the person has read and taken, or the model's repeated; a note
that counts was made with nothing else in view, or a person has said yes to it. Every other brings what nobody answers
for: pages and servers' answers of course, but also files and output, since a file's words are whoever's wrote it."""
_WITHOUT_RUNNING = frozenset({CallStatus.REFUSED, CallStatus.BAD_CALL})


class InView(Struct, frozen=True):
    """`private`: words or files of a person's, or what tools read here. `untrusted`: what nobody answers for.

    `named` are the URLs that stood in the owner's own words, whole: not in what they pass on or quote.
    """

    private: bool = False
    untrusted: bool = False
    named: frozenset[str] = frozenset()

    @property
    def mixed(self) -> bool:
        """Whether both are in view, so that one may carry the other away."""
        return self.private and self.untrusted


class InViewFold:
    """What a growing log has shown to a model so far; each entry is looked at once, in however many looks.

    >>> InViewFold().advance(()).mixed
    False
    """

    def __init__(self, owner: Principal = OWNER) -> None:
        self._owners = (OWNER, owner)
        self._looked_at = 0
        self._private = False
        self._untrusted = False
        self._outside: list[int] = []
        self._named: set[str] = set()
        self._brought: dict[CallId, str] = {}

    def advance(self, log: Sequence[e.Entry]) -> InView:
        """What all of `log` has shown: the log of the calls before, longer or the same."""
        for entry in log[self._looked_at :]:
            brings = self._brings_outside(entry.fact)
            self._untrusted = self._untrusted or brings
            if brings or (isinstance(entry.fact, e.Opening) and (quotes(entry.fact) or by_program(entry.fact))):
                self._outside.append(entry.seq)
        self._looked_at = len(log)
        return InView(self._private, self._untrusted, frozenset(self._named))

    @property
    def outside(self) -> tuple[int, ...]:
        """The entries that brought what nobody answers for, in order.

        A message that quotes is among them, and one that a program says: whoever answers a bot by quoting it need not
        be asked before something is sent, and what is to be kept for good may be words of whoever is quoted.
        """
        return tuple(self._outside)

    def _brings_outside(self, fact: e.AnyFact) -> bool:
        match fact:
            case e.Delegated(forwarded=forwarded):
                self._private = True
                return forwarded
            case e.Opening(parts=parts, sender=sender, forwarded=forwarded):
                self._private = True
                own = sender in self._owners
                if own and not forwarded:
                    said = [part.text for part in parts if isinstance(part, Text)]
                    own_words = [_unquoted(text) for text in said if not text.startswith(INSTRUCTIONS)]
                    self._named.update(url for text in own_words for url in urls_in(text))
                # Who sends a file need not have written it; who records a voice message speaks.
                files = [part for part in parts if isinstance(part, Media) and part.media is not MediaKind.VOICE]
                return not own or forwarded or bool(files)
            case e.ModelSaid(parts=said):
                self._brought.update({part.id: part.name for part in said if isinstance(part, ToolCall)})
            case e.ToolFinished(skill=e.UsedSkill(server=server)) if server:
                return True  # the person has read it, and the words are still the server's
            case e.ToolFinished(call=call, status=status) if status not in _WITHOUT_RUNNING:
                return self._brought.get(call, "send_file") not in _OWN_WORDS
            case e.ResultsBrought():
                return True
            case e.WorkEnded() | e.Imported():
                return True
            case _:
                pass
        return False


def _unquoted(text: str) -> str:
    """Without quoted lines: they may be anybody's."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(">"))


def outside_words(log: Sequence[e.Entry], owner: Principal) -> tuple[int, ...]:
    """What `InViewFold.outside` gives for all of `log`."""
    fold = InViewFold(owner)
    fold.advance(log)
    return fold.outside
