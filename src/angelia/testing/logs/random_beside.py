"""What happens beside the turns of a random log: chats, recordings, previews and deliveries."""

from angelia.core import entry as e
from angelia.core.content import MediaKind
from angelia.core.ids import DeliveryId
from angelia.core.media_parts import media_parts
from angelia.core.principal import OWNER, Principal
from angelia.testing.logs.playbook import voice
from angelia.testing.logs.random_draft import RandomLog

CHAT = e.Address("telegram", "7")


ANN = Principal("chat", "ann")


def come_in(draft: RandomLog) -> None:
    """Something reaches us that opens no turn."""
    key = f"k{len(draft.entries)}"
    facts = (
        e.CommandGiven("/status", ANN, CHAT, key),
        e.TurnedAway("It is a sticker that moves.", ANN, CHAT, key),
        e.SetAside(draft.words(), ANN, CHAT, key, reply_to="m1"),
        e.DoorMoved(CHAT, ANN),
        e.WorkspaceMoved("/moved", OWNER),
        e.FilesTakenBack(ANN, 0, ("s1",), "s2", 1, ("b.txt: it was changed since",)),
        e.BytesLetGo((e.LetGo("0" * 64, 1, 0, "picture"),), 24),
        e.WordsErased(1, OWNER),
        e.Administered(e.AdminAct.SHUT_OUT, OWNER, person=ANN),
        e.Checked(e.CheckOutcome.SCORED, 0.5, "half of the rows", 0.25),
    )
    draft.add(facts[draft.choose(len(facts))])


def write_down(draft: RandomLog, seq: int) -> None:
    """The recordings of the message `seq` are asked for, and perhaps written down."""
    spoken = [at for at, media in media_parts(draft.entries[seq - 1].fact) if media.media is MediaKind.VOICE]
    if not spoken or not draft.choose(3):
        return
    draft.add(e.TranscriptAsked(seq, "ear"))
    if draft.choose(3):
        lines = tuple(e.Spoken(at, why="noise") if draft.choose(4) == 1 else e.Spoken(at, "hello") for at in spoken)
        draft.add(e.Transcribed(seq, "ear", lines))


def speak(draft: RandomLog, replies: tuple[int, ...]) -> None:
    """An answer is perhaps spoken, with sound or without."""
    if draft.choose(4) == 1:
        draft.add(e.SpeechAsked(replies, "mouth"))
        match draft.choose(3):
            case 1:
                draft.add(e.SpeechMade(replies, voice(), paid=e.Payment("mouth", 9)))
            case 2:
                draft.add(e.SpeechMade(replies, why="It was silent."))
            case _:
                pass


def preview(draft: RandomLog, answer: DeliveryId) -> None:
    """The answer is shown while it is written, once for each delivery."""
    begun = any(isinstance(x.fact, e.PreviewStarted) and x.fact.id == answer for x in draft.entries)
    if not begun and draft.choose(6) == 1:
        draft.add(e.PreviewStarted(answer, CHAT))
        if draft.choose(2):
            draft.add(e.PreviewShown(answer, "m9"))


def go_out(draft: RandomLog, name: DeliveryId) -> None:
    """As much of a delivery as has happened so far."""
    match draft.choose(5):
        case 1:
            status = list(e.DeliveryStatus)[draft.choose(4)]
            draft.add(e.DeliveryStarted(name, 1), e.DeliverySettled(name, status, detail="as it went"))
            if status in (e.DeliveryStatus.FAILED, e.DeliveryStatus.UNKNOWN) and draft.choose(3) == 1:
                draft.add(e.DeliveryLetBe(name, OWNER))
        case 2:
            draft.add(e.DeliveryStarted(name, 1), e.DeliveryPutOff(name, 0, 9_000, "too many messages"))
        case 3:
            draft.add(e.DeliveryStarted(name, 1), e.PieceArrived(name, 0, "m10"))
            draft.add(e.DeliverySettled(name, e.DeliveryStatus.SENT, "m10"))
            if draft.choose(2):
                draft.add(e.DeliveryReached(name, "m10", list(e.DeliveryReach)[draft.choose(3)]))
        case _:
            pass
