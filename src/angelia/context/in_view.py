"""Whose words a model has in view: a person's own, and those that nobody answers for.

Where both stand in one request, somebody else's words can have private ones sent away: in the address of a page, in
that of a picture, by a command on the network. The policy asks then. What a summary stands for counts as in view,
since the summary was written from it; so both, once there, stay to the end of the conversation.
"""

from collections.abc import Sequence

from msgspec import Struct

from angelia.context.known_urls import urls_in
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.ids import CallId
from angelia.core.principal import OWNER, Principal

_OWN_WORDS = frozenset({"ask_user", "edit", "send_file", "todo", "write"})
"""Tools whose results are the person's words or repeat the model's. Every other brings what nobody answers for: pages
and servers' answers of course, but also files and output, since a file's words are whoever's wrote it."""
_WITHOUT_RUNNING = frozenset({CallStatus.REFUSED, CallStatus.BAD_CALL})


class InView(Struct, frozen=True):
    """`private`: words or files of a person's, or what tools read here. `untrusted`: what nobody answers for.

    `named` are the URLs that stood in the owner's own words, whole.
    """

    private: bool = False
    untrusted: bool = False
    named: frozenset[str] = frozenset()

    @property
    def mixed(self) -> bool:
        """Whether both are in view, so that one may carry the other away."""
        return self.private and self.untrusted


def in_view(log: Sequence[e.Entry], owner: Principal = OWNER) -> InView:
    """What the whole conversation has shown to a model. Pure; one pass, 1 ms for some thousand entries.

    >>> in_view(()).mixed
    False
    """
    private = untrusted = False
    named: set[str] = set()
    brought: dict[CallId, str] = {}
    for entry in log:
        match entry.fact:
            case e.Opening(parts=parts, sender=sender):
                private = True
                own = sender in (OWNER, owner)
                # Who sends a file need not have written it; who records a voice message speaks.
                files = [part for part in parts if isinstance(part, Media) and part.media is not MediaKind.VOICE]
                untrusted = untrusted or not own or bool(files)
                if own:
                    named.update(url for part in parts if isinstance(part, Text) for url in urls_in(part.text))
            case e.ModelSaid(parts=said):
                brought.update({part.id: part.name for part in said if isinstance(part, ToolCall)})
            case e.ToolFinished(call=call, status=status) if status not in _WITHOUT_RUNNING:
                untrusted = untrusted or brought.get(call, "send_file") not in _OWN_WORDS
            case e.WorkEnded():
                untrusted = True
            case _:
                pass
    return InView(private, untrusted, frozenset(named))
