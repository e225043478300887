"""A home in which Ann and Ben talk: each alone, and both in a group."""

from collections.abc import Mapping

from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, MediaKind, Text, ToolCall
from angelia.core.ending import Answered
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
from angelia.sandboxes.workspace import work_folder
from angelia.service.app import App

ANN, BEN = Principal("telegram", "9917364711"), Principal("telegram", "815")
SAID, ANSWERED, SENT, DREW = (f"canary{what}of{who}" for what, who in zip("qwzx", ("ann",) * 4, strict=True))
"""What Ann said, what was answered to her, what a file of hers holds, and what a call wrote for her."""
MIXED = "canarymixedanswer"
BENS = "canaryofben"

OWN, BENS_OWN, GROUP = ConversationId("own"), ConversationId("bens"), ConversationId("group")
OWNERS = ConversationId("owners")
PAIR = e.Address("telegram", "-100")
_SPOKEN = e.StopReason.END


def turn(who: Principal, words: str, answer: str, seq: int, address: e.Address = PAIR) -> list[e.AnyFact]:
    """A turn whose first entry has the number `seq`."""
    key = DeliveryId(f"d{seq}")
    return [
        e.UserSaid((Text(words),), who, address, key=f"{address.chat}.{seq}"),
        e.ModelAsked("m", 1, heard=(seq,)),
        e.ModelSaid("m", (Text(answer),), _SPOKEN, cost=5),
        e.TurnClosed(Answered()),
        e.DeliveryQueued(key, address, (Text(answer),), "answer"),
        e.DeliverySettled(key, e.DeliveryStatus.SENT),
    ]


def working_turn(who: Principal, seq: int, media: Media) -> list[e.AnyFact]:
    """A turn with a file and a call."""
    call = CallId(f"c{seq}_0")
    return [
        e.UserSaid((Text(SAID), media), who, PAIR, key=f"w{seq}"),
        e.ModelAsked("m", 1, heard=(seq,)),
        e.ModelSaid("m", (ToolCall(call, "shell", f'{{"command": "echo {DREW}"}}'),), e.StopReason.TOOL_CALLS),
        e.ToolStarted(call),
        e.ToolFinished(call, CallStatus.OK, (Text(DREW),)),
        e.ModelAsked("m", 1),
        e.ModelSaid("m", (Text(ANSWERED),), _SPOKEN),
        e.TurnClosed(Answered()),
    ]


async def fill(app: App, *, unfinished: bool = False) -> Mapping[str, str]:
    """Let them talk; returns the SHA-256 of Ann's and of Ben's files."""
    files = {name: await app.blobs.put(f"{name} {SENT if name == 'ann' else BENS}".encode()) for name in ("ann", "ben")}
    media = {name: Media(ref, MediaKind.DOCUMENT, name=f"{name}.txt") for name, ref in files.items()}
    folder = work_folder(app.loaded.home) / "telegram" / ANN.id
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text(SENT)
    code = await app.admission.pairings.ask(ANN, "Ann")
    assert isinstance(code, str)
    await app.admission.pairings.approve(code, by=OWNER, role=PersonRole.MEMBER)
    alone, bens = e.Address("telegram", "9917364711"), e.Address("telegram", "815")
    append = app.transcript.append
    opened = e.ConversationOpened("telegram", str(folder), owner=ANN)
    await append(OWN, [opened, e.DoorMoved(alone, ANN), *turn(ANN, SAID, ANSWERED, 3, alone)])
    await append(BENS_OWN, [e.ConversationOpened("telegram", "/b", owner=BEN), *turn(BEN, BENS, BENS, 2, bens)])
    group: list[e.AnyFact] = [
        e.ConversationOpened("telegram", "/g", owner=ANN),
        e.DoorMoved(PAIR, ANN),
        *turn(ANN, SAID, ANSWERED, 3),
        *turn(BEN, BENS, BENS, 9),
        *working_turn(ANN, 15, media["ann"]),
        e.UserSaid((Text(BENS), media["ben"]), BEN, PAIR, key="m1"),
        e.UserSaid((Text(SAID),), ANN, PAIR, key="m2"),
        e.ModelAsked("m", 1, heard=(23, 24)),
        e.ModelSaid("m", (Text(MIXED),), _SPOKEN),
        e.TurnClosed(Answered()),
        e.NoteProposed(1, e.NoteScope.CHAT, "telegram:-100", e.NoteKind.FACT, SAID, ANN),
        e.NoteKept(1, ANN),
        e.ViewMoved("full", keep_from=23, summary=f"Ann said {SAID}."),
        e.CommandGiven(f"/pin {SAID}", ANN, PAIR, "k1"),
        e.DeliveryQueued(DeliveryId("dk"), PAIR, (Text(f"Pinned: {SAID}"),), "notice"),
        e.DeliverySettled(DeliveryId("dk"), e.DeliveryStatus.SENT),
    ]
    if unfinished:
        group += [e.UserSaid((Text(SAID),), ANN, PAIR, key="open")]
    await append(GROUP, group)
    asked = e.DeliveryQueued(
        DeliveryId("p1"),
        e.Address("telegram", "1"),
        (Text(f"Somebody I do not know asks to talk to me: “Ann”, {ANN.id}"),),
        "question",
        choices=(e.QuestionChoice("Let them in", f"l:y:{ANN}"),),
    )
    sent = e.DeliverySettled(DeliveryId("p1"), e.DeliveryStatus.SENT)
    await append(OWNERS, [e.ConversationOpened("telegram", "/o"), asked, sent, e.UserSaid((Text(BENS),), key="o1")])
    await app.key_value.put(f"trusted-file:{ANN}\n/work\nAGENTS.md", "yes")
    return {name: ref.sha256 for name, ref in files.items()}
