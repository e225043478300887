"""When an answer that is being written may be seen growing."""

import pytest

from angelia.core.entry import Address
from angelia.core.ids import ConversationId, DeliveryId
from angelia.service.chats.preview import Preview
from angelia.store.tables.outbox import Progress


@pytest.mark.parametrize(
    ("progress", "message", "given_up"),
    [
        (Progress({}, {}, None), "", False),
        (Progress({}, {}, "m1"), "m1", False),
        (Progress({}, {}, ""), "", True),
        (Progress({0: "m1"}, {}, None), "", True),
        (Progress({}, {0: 1}, None), "", True),
    ],
    ids=["nothing was sent", "it was seen growing", "nobody knows its id", "the answer is there", "it may be there"],
)
def test_no_preview_is_begun_where_the_answer_may_stand_already(
    progress: Progress, message: str, given_up: bool
) -> None:
    draft = Preview(ConversationId("c"), DeliveryId("c.t1"), Address("chat", "7"))
    draft.take_up(progress)
    assert (draft.message, draft.given_up) == (message, given_up)


def test_a_line_that_names_a_file_is_not_seen_growing() -> None:
    draft = Preview(ConversationId("c"), DeliveryId("c.t1"), Address("chat", "7"))
    seen = []
    for piece in ("Here", " it is:\nME", "DIA:/tmp/m", "ay.pdf", "\nAnd that is", " all."):
        draft.write(piece)
        seen.append(draft.words(100))
    assert seen == ["Here", *["Here it is:"] * 3, "Here it is:\nAnd that is", "Here it is:\nAnd that is all."]
