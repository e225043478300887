"""What a log is made of: frozen facts, in the past tense, each with its place and time."""

from enum import StrEnum

from msgspec import Struct

from angelia.core.content import BlobRef, CallStatus, Content, Form, Media, MediaKind, ReplyPart, ToolCall
from angelia.core.ending import Ending
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, ConversationId, DeliveryId, PlaceId
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.core.timing import Watched, When


class Address(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where something goes: a door (`terminal`, `acp`, a channel's name), a chat and a thread within it."""

    door: str
    chat: str = ""
    thread: str = ""


PARENT = "parent"
"""The door of what goes from a child conversation to its parent, whose id is the chat; and at which children begin."""

BATCH = "batch"
"""The door at which the tasks of a batch are put; the chat is the batch's id."""


API = "api"
"""The door at which programs speak by keys of theirs; the chat is the conversation."""


class Arrival(StrEnum):
    """When a message wants to be read."""

    STEER = "steer"
    """At the next step, also of a running turn."""
    QUEUE = "queue"
    """Only after the running turn has closed."""


class AnswerForm(StrEnum):
    """The form in which an answer is given."""

    TEXT = "text"
    VOICE = "voice"
    """Spoken; as text where that fails, and for what cannot be spoken."""
    BOTH = "both"


class StopReason(StrEnum):
    """Why a model's reply ended, in our words."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    """The model declined, or the provider's filter cut it."""
    PAUSE = "pause"
    """The provider hands back a long turn and expects it to be sent again (Anthropic `pause_turn`)."""


class Usage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tokens of one reply, as the provider reports them. `input` includes the cached ones."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0


class Diff(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A changed text file, for people: `old` is empty for a new file. Never sent to a model."""

    path: str
    old: str
    new: str


class Aged(Struct, frozen=True, forbid_unknown_fields=True):
    """A medium that the view shows as one `line` of text: part number `part` of the entry `seq`."""

    seq: int
    part: int
    line: str


class Reshown(Struct, frozen=True, forbid_unknown_fields=True):
    """A medium that goes out in another form or smaller; `long_edge` is pixels, 0 for no limit of its own."""

    seq: int
    part: int
    form: Form
    long_edge: int = 0


class Shortened(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool result whose text the view shows as `text`, which names the way to the whole."""

    call: CallId
    text: str


class Refusal(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of media that a model would not take natively; it is not given again."""

    model: str
    media: MediaKind


# Frozen and built of immutable values alone, facts form no cycles. They are left out of the collector's rounds, each of
# which stops every thread: at 20,000 entries a full one takes 8 ms instead of 35.
class Fact(Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag=True):
    """Something that happened."""


class UsedSkill(Struct, frozen=True, omit_defaults=True):
    """A skill that a call handed out, in the version with this digest; `allowed` are the tools that it works with.

    `server` serves it, empty for one of a folder of this machine.
    """

    name: str
    digest: str
    allowed: tuple[str, ...] = ()
    server: str = ""


class ChildTerms(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """On which terms a child conversation works, as its parent opened it; what the parent may not, it may not either.

    `root` is the conversation of the tree in which a person speaks, and `depth` how far from it this one is, 1 for its
    own children. `name` is what parent and person call it, unique among the children of `parent`. `model` is empty for
    the one of the settings. `tools` are the only ones that it has, empty for all that a child may have. `max_cost` is
    what is reserved for it and for its own children, millionths of a US dollar, and `max_steps` counts model calls in
    each of its turns; 0 is no cap of its own. `skills` are those that were in use where it was opened: what they narrow
    is narrow for it too. `copy_of` is the workspace of which it, or one that it works for, has a copy: what was granted
    and trusted there holds for it; empty where it works in that folder itself. `worker` is the helper of
    the settings whose other agent works in a model's place; empty for a model.
    """

    parent: ConversationId
    root: ConversationId
    name: str
    depth: int = 1
    model: str = ""
    tools: tuple[str, ...] = ()
    max_cost: int = 0
    max_steps: int = 0
    skills: tuple[UsedSkill, ...] = ()
    copy_of: str = ""
    worker: str = ""


class KeptSums(Struct, frozen=True, forbid_unknown_fields=True):
    """By what the entries that a fork has from others are told from altered ones: by the checksums that they were
    written with. `logs` says in whose log those up to a number were written, in order; the second entry came after one
    with the checksum `after`.
    """

    after: bytes
    logs: tuple[tuple[ConversationId, int], ...]


class ForkedFrom(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose past a conversation has: the entries of `of` up to the number `upto`, but for the first one.

    `door` and `key` name what was asked for, so that a repeat of it begins no second one; empty where nothing did.
    Without `sums` its entries have checksums of its own.
    """

    of: ConversationId
    upto: int
    door: str = ""
    key: str = ""
    sums: KeptSums | None = None


class ConversationOpened(Fact, frozen=True):
    """The first entry of every log. `workspace` is an absolute path inside `sandbox`.

    `preset` is the configured name by which the sandbox was chosen, whose limits hold; empty where none was. `place`
    is the one of another conversation, in which this one works too; empty for one of its own. Without `notes` it
    neither reads nor writes any. `child` is set for one that another conversation opened, `fork` for one that began
    with the past of another.
    """

    door: str
    workspace: str
    sandbox: str = "local"
    owner: Principal = OWNER
    preset: str = ""
    place: PlaceId = PlaceId("")
    notes: bool = True
    child: ChildTerms | None = None
    fork: ForkedFrom | None = None


class Opener(Struct, frozen=True):
    """Who or what opened a turn, and where its ending goes. Folded once into `Turn`; nobody looks it up in the log."""

    principal: Principal
    address: Address
    reply_to: str = ""
    answer: AnswerForm = AnswerForm.TEXT


class Opening(Fact, frozen=True):
    """Words that open a turn, or join an open one: a person's, and whatever else may begin one.

    `key` is unique per door: a repeat is absorbed. `reply_to` is the message that an answer refers to, as the network
    knows it; empty where answers stand alone. `forwarded` says that words or files of others are among the parts: they
    are quoted there, and are nobody's orders. The turn that it opens is answered in the form `answer`.
    """

    parts: tuple[Content, ...]
    sender: Principal = OWNER
    address: Address = Address("terminal")
    key: str = ""
    arrival: Arrival = Arrival.STEER
    reply_to: str = ""
    forwarded: bool = False
    answer: AnswerForm = AnswerForm.TEXT

    @property
    def opener(self) -> Opener:
        """Who opens the turn by this, and where its ending goes."""
        return Opener(self.sender, self.address, self.reply_to, self.answer)


class UserSaid(Opening, frozen=True):
    """A person said something; `key` is the platform's message id."""


class MessageTakenBack(Fact, frozen=True):
    """A person took their message `said` back before it was read: no request carries it from here on.

    One that names it in its `heard` all the same was being made already, and has carried it. The message that opened
    the open turn is not taken back; the turn is stopped for that.
    """

    said: int
    by: Principal = OWNER


class Occurred(Opening, frozen=True):
    """A schedule's time has come, and a turn begins because of it; `due` is that instant, Unix milliseconds.

    A `due` of 0 is a run that somebody asked for by hand. An instant at or before one that has its fact is absorbed.
    `digest` is of what the schedule watches, as it was then; empty where it watches nothing.
    """

    schedule: ConversationId = ConversationId("")
    due: int = 0
    digest: str = ""


class Delegated(Opening, frozen=True):
    """A parent conversation gave a task, or said something about it later; the answer goes back to it.

    `sender` and `forwarded` are as in `Child`; `key` names the child, or the call that said it.
    """


class Late(StrEnum):
    """What is done about occurrences at which nobody kept time."""

    RUN = "run"
    """There is one run for all of them, which is told how many they were."""
    SKIP = "skip"
    """None."""


class Scheduled(Fact, frozen=True):
    """Turns are to begin at the times of `when`, read in an IANA `zone`, after `since` (Unix milliseconds).

    It stands in a log of its own, the schedule's, whose first entry says where the runs work and whose they are.
    `text` opens each run, and its ending goes to `address`. `into` is the conversation that all of them go on with;
    empty where each has one of its own. `model` is empty for the one of the settings. `watch` is what has to have
    changed for a run to begin; None where it is the time alone.
    """

    when: When
    zone: str
    text: str
    since: int
    address: Address
    by: Principal = OWNER
    late: Late = Late.RUN
    into: ConversationId = ConversationId("")
    model: str = ""
    watch: Watched | None = None


class ScheduleState(StrEnum):
    """How a schedule stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"


class ScheduleChanged(Fact, frozen=True):
    """A schedule was paused, resumed or ended, because of `why`; `by` is `angelia` where it failed too often."""

    state: ScheduleState
    by: Principal = ANGELIA
    why: str = ""


class OccurrencesMissed(Fact, frozen=True):
    """Nothing began at `count` occurrences of this log's schedule, because of `why`: from `due` to `last`, Unix
    milliseconds, which are the same for a single one.
    """

    due: int
    last: int
    count: int
    why: str


class WatchChecked(Fact, frozen=True):
    """At `due` what this log's schedule watches was looked at, and no run began: it was as before, with this `digest`,
    or could not be looked at because of `fault`.
    """

    due: int
    digest: str = ""
    fault: str = ""


class DoorMoved(Fact, frozen=True):
    """From here on, what is said at this address belongs to this conversation.

    `person` is set where everybody in a group has a conversation of their own.
    """

    address: Address
    by: Principal
    person: Principal | None = None


class WorkspaceMoved(Fact, frozen=True):
    """The folder in which this conversation works lies at `workspace` from here on: it is no longer where it was, and
    `by` opened the conversation there.
    """

    workspace: str
    by: Principal


class CommandGiven(Fact, frozen=True):
    """A person used one of our verbs in a chat; what it does and its answer are in the same commit."""

    text: str
    sender: Principal
    address: Address
    key: str


class TurnedAway(Fact, frozen=True):
    """Something came in that no model reads; whoever sent it is told `why` in the same commit."""

    why: str
    sender: Principal
    address: Address
    key: str


class SetAside(Fact, frozen=True):
    """A message that waited out an outage: whoever sent it is asked whether it is still wanted.

    If it is, it is said once more, under its key with `:wanted` behind it.
    """

    parts: tuple[Content, ...]
    sender: Principal
    address: Address
    key: str
    reply_to: str = ""
    forwarded: bool = False


class TranscriptAsked(Fact, frozen=True):
    """What is said in the recordings of the message `seq` is about to be written down by `by`.

    `may_cost` is what is owed for it should nobody hear how it ends: millionths of a US dollar, -1 if nobody knows.
    """

    seq: int
    by: str
    may_cost: int = 0


class Spoken(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is said in part number `part` of a message; `why` says why nobody knows, and is empty otherwise."""

    part: int
    text: str = ""
    why: str = ""


class Transcribed(Fact, frozen=True):
    """The recordings of the message `seq` in words, as `by` heard them.

    `cost` is millionths of a US dollar, -1 when the price is unknown.
    """

    seq: int
    by: str
    spoken: tuple[Spoken, ...]
    cost: int = -1


class Placed(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a file lies: part number `part` of a message, `path` relative to the workspace.

    `what` is how both sides call it. `why` says why it could not be put there, and is empty otherwise.
    """

    part: int
    what: str
    path: str = ""
    why: str = ""


class FilesPlaced(Fact, frozen=True):
    """The files of the message `seq` lie in the sandbox, where tools can work on them."""

    seq: int
    files: tuple[Placed, ...]


class SystemSaid(Fact, frozen=True):
    """We told the model something: a nudge, a note. It is never taken for a person's message."""

    text: str


class Pinned(Fact, frozen=True):
    """A person wants these words kept word for word, whatever is folded."""

    text: str
    by: Principal = OWNER


class Unpinned(Fact, frozen=True):
    """These words need not be kept any longer."""

    text: str
    by: Principal = OWNER


class CompactionRequested(Fact, frozen=True):
    """A person wants the view folded before the next request; `keep` says what matters to them."""

    by: Principal = OWNER
    keep: str = ""


class NoteScope(StrEnum):
    """Where a note holds."""

    PERSON = "person"
    """Wherever they talk to us alone."""
    PROJECT = "project"
    """In one project, by its Git origin or its path."""
    CHAT = "chat"
    """In one chat."""


class NoteKind(StrEnum):
    """What a note is."""

    PREFERENCE = "preference"
    FACT = "fact"
    RULE = "rule"
    """It is repeated after each fold, since models follow less what stands far back."""


class NoteProposed(Fact, frozen=True):
    """Somebody wants something remembered beyond this conversation; it counts once it is kept.

    `number` names it for people, once in a home. `about` is the project or the chat of its scope, empty for a person.
    `call` is the call that made it, empty where `by`, a person, wrote it. `outside` are the entries with words from
    elsewhere that were in view, the newest of them. `replaces` is the number of the note that it takes the place of, 0
    for none. What becomes of a note later is appended here too, whoever does it and wherever.
    """

    number: int
    scope: NoteScope
    about: str
    what: NoteKind
    text: str
    by: Principal
    call: CallId = CallId("")
    outside: tuple[int, ...] = ()
    replaces: int = 0


class NoteKept(Fact, frozen=True):
    """The note of this number counts, from here on or again."""

    number: int
    by: Principal


class NoteDropped(Fact, frozen=True):
    """The note of this number does not count any more; it may be kept again."""

    number: int
    by: Principal


class Imported(Fact, frozen=True):
    """What another agent kept was taken in: what follows was said or noted there, and each entry has its own time.

    `source` names the agent, `file` is the path within its home, `record` what it was called there; all as they were
    found. `count` is how many messages or notes of it have been taken by now, the first ones, and `digest` is the
    SHA-256 of these. `original` is the file, where it is a text with notes.
    """

    source: str
    file: str
    record: str
    count: int
    digest: str
    original: BlobRef | None = None
    by: Principal = OWNER


class NotesShown(Fact, frozen=True):
    """The notes that the system prompt holds from here on; `left_out` are those for which there was no room."""

    numbers: tuple[int, ...]
    left_out: int = 0


class LearningAsked(Fact, frozen=True):
    """What the person said up to the entry `upto` is about to be looked through for notes, by the model `by`.

    It is not looked through again, whatever comes of it.
    """

    upto: int
    by: str


class LearningEnded(Fact, frozen=True):
    """What came of a look: the notes of `numbers`, or none because of `why`.

    `cost` is millionths of a US dollar, -1 when the price is unknown.
    """

    upto: int
    by: str
    numbers: tuple[int, ...] = ()
    why: str = ""
    usage: Usage = Usage()
    cost: int = -1


class SetupChanged(Fact, frozen=True):
    """The model, the system prompt, the tools and the profile from here on; the last three are JSON or text blobs."""

    model: str
    prompt: BlobRef
    tools: BlobRef
    profile: BlobRef


class ModelAsked(Fact, frozen=True):
    """A request is about to go out. `heard` names the `UserSaid` entries that join the view with it."""

    model: str
    attempt: int
    heard: tuple[int, ...] = ()
    credential: str = ""


class ModelSaid(Fact, frozen=True):
    """A finished reply. `cost` is millionths of a US dollar, -1 when the price is unknown; it pays for the last
    `covers` replies of unknown price as well (`models.port.Price`). `body` is as in `ModelFailed`.
    """

    model: str
    parts: tuple[ReplyPart, ...]
    stop: StopReason
    usage: Usage = Usage()
    cost: int = -1
    body: int = 0
    covers: int = 0


class FileNamed(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that a final reply names: number `place` of those in its words, and the call that sends it."""

    place: int
    call: ToolCall


class FilesNamed(Fact, frozen=True):
    """The reply right before it, in the same commit, names files that go out before the turn is closed."""

    files: tuple[FileNamed, ...]


class HookEvent(StrEnum):
    """The event at which a program of the person's is run."""

    BEFORE_CALL = "before-call"
    """It may refuse."""
    AFTER_CALL = "after-call"
    MESSAGE = "message"
    ENDING = "ending"


class HookOutcome(StrEnum):
    """What came of it."""

    PASSED = "passed"
    REFUSED = "refused"
    ASKED = "asked"
    FAILED = "failed"
    """It could not be run to its end, or answered nothing that can be read. Before a call that refuses."""


class HookRan(Fact, frozen=True):
    """A program of the person's was run, and `why` is what it said. `about` is the id of a call, or the number of the
    message's or the ending's entry in this log. `seconds` is wall time.
    """

    hook: str
    event: HookEvent
    about: str
    came: HookOutcome
    why: str = ""
    seconds: float = 0.0


class ModelFailed(Fact, frozen=True):
    """A request that brought no usable reply. `partial` is what had arrived; it is never projected.

    `body` is the bytes of the request by our own measure, 0 where it is too small for any limit.
    """

    model: str
    failure: Failure
    partial: tuple[ReplyPart, ...] = ()
    usage: Usage = Usage()
    cost: int = -1
    body: int = 0


class RemedyUsed(Fact, frozen=True):
    """One use of one remedy for one failure. `until` is Unix milliseconds for a wait; `detail` says more."""

    failure: FailureKind
    remedy: str
    until: int = 0
    detail: str = ""


class Payment(Struct, frozen=True, forbid_unknown_fields=True):
    """Money that a call took: whose service (`vendor:model`), and millionths of a US dollar, -1 if nobody knows."""

    to: str = ""
    cost: int = 0


NO_PAYMENT = Payment()
"""Nobody is paid. A fact that holds this very one is written without it."""


class ToolStarted(Fact, frozen=True):
    """A call is about to run. A `replayable` one may simply be run again after a crash.

    `may_cost` is what is owed for it at most, should nobody hear how it ends; empty where nothing can be.
    """

    call: CallId
    replayable: bool = False
    may_cost: Payment = NO_PAYMENT


class JobSubmitted(Fact, frozen=True):
    """The server of `to` has taken on what a running call asks of it, and knows it by `job`, whose words only it reads.

    After a crash the call goes on from here: what was made there is fetched, and nothing is asked for again.
    """

    call: CallId
    to: str
    job: str


class ToolFinished(Fact, frozen=True):
    """What a call came to. `full` holds the whole output where `parts` shows only head and tail.

    `seconds` is wall time. `diffs` are for people. `digest` identifies call and result, for the loop guard. `paid` is
    what it cost, whether or not it came to something. `skill` is what it handed out, if it did.
    """

    call: CallId
    status: CallStatus
    parts: tuple[Content, ...]
    seconds: float = 0.0
    full: BlobRef | None = None
    diffs: tuple[Diff, ...] = ()
    digest: str = ""
    paid: Payment = NO_PAYMENT
    skill: UsedSkill | None = None


class OfferedFunction(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A function that a program has; `parameters` is the JSON schema of its arguments, as text."""

    name: str
    description: str = ""
    parameters: str = "{}"


class ToolsOffered(Fact, frozen=True):
    """The model may call these tools of the program that speaks here, and no others of it, from the next turn or
    request on. `one_by_one` hands it one call at a time.
    """

    tools: tuple[OfferedFunction, ...]
    one_by_one: bool = False


class CallsHandedOver(Fact, frozen=True):
    """These calls are of tools that a program has: it gets them, and the turn waits for what it brings."""

    calls: tuple[CallId, ...]


class BroughtResult(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a call that was handed over came to, as the program says."""

    call: CallId
    parts: tuple[Content, ...]
    failed: bool = False


class ResultsBrought(Fact, frozen=True):
    """A program brought the results of calls that had been handed over to it; `key` is as in `Opening`."""

    results: tuple[BroughtResult, ...]
    sender: Principal
    address: Address
    key: str = ""


class SpeechAsked(Fact, frozen=True):
    """The replies of these entries, which answer the turn, are about to be spoken by `by`; no replies for a sentence
    that is spoken while its reply is written, to somebody who listens to the process `life`.

    `may_cost` is what is owed for it should nobody hear how it ends: millionths of a US dollar, -1 if nobody knows.
    """

    replies: tuple[int, ...]
    by: str
    may_cost: int = 0
    life: str = ""


class SpeechMade(Fact, frozen=True):
    """What speaking these replies came to: `media` is the sound, with its words beside it.

    `why` says why there is none, and is empty otherwise; it may have been `paid` for all the same.
    """

    replies: tuple[int, ...]
    media: Media | None = None
    why: str = ""
    paid: Payment = NO_PAYMENT


class LetGo(Struct, frozen=True, forbid_unknown_fields=True):
    """A picture whose bytes are gone: part number `part` of the entry `seq`, and what it was, in words."""

    sha256: str
    seq: int
    part: int
    what: str


class BytesLetGo(Fact, frozen=True):
    """Screenshots were let go after `hours`, since nobody was sent, pinned or named them."""

    pictures: tuple[LetGo, ...]
    hours: int


class WordsErased(Fact, frozen=True):
    """What somebody had said here, and what was answered to them alone, was erased from `count` entries before this
    one; who they were is not known any more. Whoever had read the log before has to read it anew.
    """

    count: int
    by: Principal


class AdminAct(StrEnum):
    """What is done to a home, and not in a conversation."""

    LET_IN = "let_in"
    """`person` may speak, as `about` says."""
    SHUT_OUT = "shut_out"
    ROLE_CHANGED = "role_changed"
    """`person` is something else from now on, as `about` says."""
    GRANT_REVOKED = "grant_revoked"
    """`about` is its number; that it was given stands in the log of its conversation."""
    SETTINGS_CHANGED = "settings_changed"
    """`about` are the settings that stand otherwise in the file than when the home was opened last, without values."""
    KEYS_CHANGED = "keys_changed"
    """`about` are the keys, logins and secrets that came (+) or went (-) since, by name."""
    API_KEY_ADDED = "api_key_added"
    API_KEY_REMOVED = "api_key_removed"
    PASSWORD_SET = "password_set"  # noqa: S105 - an act, and no password; so is the next
    """The page's; so is the next."""
    PASSWORD_REMOVED = "password_removed"  # noqa: S105
    PASSKEY_ADDED = "passkey_added"
    """`about` is its name, and so in the next."""
    PASSKEY_REMOVED = "passkey_removed"
    SCHEDULED = "scheduled"
    """`about` is the schedule's id, when it begins turns, and the door at which it was made."""
    CONVERSATION_ERASED = "conversation_erased"
    """`about` is its id."""
    PERSON_ERASED = "person_erased"
    PERSON_EXPORTED = "person_exported"


class Administered(Fact, frozen=True):
    """Something was done to the home by somebody. It stands in a log of its own, before it is done: what is told here
    may have failed, and nothing that was done is missing.
    """

    act: AdminAct
    by: Principal
    about: str = ""
    person: Principal | None = None


class FilesChanged(Fact, frozen=True):
    """A call changed files of the workspace, and what they were is kept: `angelia undo` takes it back.

    `paths` are relative to the workspace, sorted; the first of `count`.
    """

    call: CallId
    paths: tuple[str, ...]
    count: int


class FilesTakenBack(Fact, frozen=True):
    """A person took back what calls had changed: those of the turn number `turn`, or 0 for what was taken back last.

    `steps` are the journals that were taken back, `step` is the one of doing it. `count` is how many paths are as they
    were; `left` are those that are not, each with the reason.
    """

    by: Principal
    turn: int
    steps: tuple[str, ...]
    step: str
    count: int
    left: tuple[str, ...] = ()


class WorkKind(StrEnum):
    """What goes on behind a result."""

    PROCESS = "process"
    """A program of ours: it ends with the process of Angelia that holds it."""
    REMOTE_TASK = "remote_task"
    """Something that somebody else does: it may go on when nobody of ours watches it any more."""
    CHILD = "child"
    """A child conversation: it is gone on with whenever its parent is open."""
    OWN_COMMAND = "own_command"
    """A command that the person typed, and no call began: it ends with the process of Angelia that runs it."""


class Child(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A child conversation that is to be opened: its terms and its `task`, for which it has these `files` of the
    workspace. `sender` is for whom it works: a guest who spoke in the turn that gave it, or who opened that turn.
    `forwarded` says that words were in view there that nobody answers for. One with a `copy` works in a copy of the
    workspace, which is its own.
    """

    id: ConversationId
    terms: ChildTerms
    task: str
    files: tuple[str, ...] = ()
    sender: Principal = OWNER
    forwarded: bool = False
    copy: bool = False


class ChildEnd(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a child ended; None as `ending` where it could not be driven to one. Only `Answered` is an answer.

    `cost` is what it and its own children were paid, millionths of a US dollar; of `unpriced` payments besides, the
    price is not known. `steps` are its model calls.
    """

    ending: Ending | None = None
    cost: int = 0
    steps: int = 0
    unpriced: int = 0


class WorkStarted(Fact, frozen=True):
    """What the call began goes on after its result. `what` names it for people, such as its command line; `life` is the
    process of ours that holds or watches it. A `child` is named by `call`, and is opened after this; so is a command of
    the person's own, and it is run after this.
    """

    call: CallId
    work: WorkKind
    what: str
    life: str
    child: Child | None = None


class WorkEnded(Fact, frozen=True):
    """What the call began has come to its end; told once: here, or by the result of the call `told_by`.

    `unknown` means that the life which held or watched it has ended. Of a child conversation `parts` are its words and
    the files that it handed over.
    """

    call: CallId
    work: WorkKind
    status: CallStatus
    parts: tuple[Content, ...] = ()
    full: BlobRef | None = None
    told_by: str = ""
    child: ChildEnd | None = None


class QuestionKind(StrEnum):
    """What a person is asked for."""

    PERMISSION = "permission"
    CHOICE = "choice"
    """The model's own question (`ask_user`)."""


class ApprovalAsked(Fact, frozen=True):
    """A call waits for a person. `digest` binds the answer to these very arguments, and to `effects`: what the call
    would have done then. A page or a link may lead elsewhere by the time of the answer; then it is asked once more,
    under another digest. Empty effects bind to nothing.

    `pattern` is what a remembered yes would cover, empty when it cannot be remembered.
    `expires` is Unix milliseconds, 0 for never. `whole` is everything that a yes would be to, in lines; empty where
    `question` says it. Both are as the model wrote them, so that doors show them by `core.asked.shown_question` alone.
    `approvers` are those whose yes or answer counts. `picture` is shown beside the question, where pictures are shown.
    """

    call: CallId
    question: str
    digest: str
    why: str = ""
    pattern: str = ""
    choices: tuple[str, ...] = ()
    asks: QuestionKind = QuestionKind.PERMISSION
    expires: int = 0
    whole: str = ""
    approvers: tuple[Principal, ...] = (OWNER,)
    effects: str = ""
    picture: Media | None = None


class Scope(StrEnum):
    """How long a yes holds."""

    ONCE = "once"
    CONVERSATION = "conversation"
    REMEMBERED = "remembered"


class ApprovalGiven(Fact, frozen=True):
    """A person said yes, or answered (`answer`). `until` ends a remembered yes, Unix milliseconds, 0 for never."""

    call: CallId
    digest: str
    by: Principal
    scope: Scope = Scope.ONCE
    until: int = 0
    answer: str = ""


class ApprovalRefused(Fact, frozen=True):
    """A person said no, a new message made the question moot, or it expired."""

    call: CallId
    by: Principal
    why: str = ""


class CancelAsked(Fact, frozen=True):
    """A person wants the running turn to stop; or nothing was heard of it for `silent_s` seconds, if that is not 0."""

    by: Principal
    silent_s: int = 0


class ViewMoved(Fact, frozen=True):
    """What the model sees from here on. Each one is complete: the view honours the last and no other.

    Entries before `keep_from` are replaced by `summary`, except those in `kept`, which stay word for word; `folded` has
    the line of each medium that is replaced with them, whoever wrote the summary.
    `left_out` names opening entries of turns that the view leaves out. Provider blocks before `plain_before`
    are left out; calls and results before `flat_before` are told as text. `refused` holds for later media too.
    Token and byte counts are estimates. `summariser` is the model that wrote `summary`, empty for an outline made
    without one; `usage` and `cost` (millionths of a dollar, -1 unknown) are what it took.
    """

    reason: str
    keep_from: int = 0
    kept: tuple[int, ...] = ()
    summary: str = ""
    folded: tuple[Aged, ...] = ()
    aged: tuple[Aged, ...] = ()
    reshown: tuple[Reshown, ...] = ()
    shortened: tuple[Shortened, ...] = ()
    left_out: tuple[int, ...] = ()
    refused: tuple[Refusal, ...] = ()
    plain_before: int = 0
    flat_before: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    summariser: str = ""
    usage: Usage = Usage()
    cost: int = -1


class QuestionChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """Something a person may press: `label` is for them, `value` (at most 64 bytes) comes back to us."""

    label: str
    value: str


class DeliveryQueued(Fact, frozen=True):
    """Something is to go out. `origin` is the call id that sent a file, or `answer`, `ending`, `notice`, `question`.

    `reply_to` is as in `UserSaid`; `choices` are buttons beneath it. `after` is a delivery to the same address that
    goes first, and may still have to be queued: the words that announce a file.
    """

    id: DeliveryId
    address: Address
    parts: tuple[Content, ...]
    origin: str
    reply_to: str = ""
    choices: tuple[QuestionChoice, ...] = ()
    after: DeliveryId = DeliveryId("")


class DeliveryStatus(StrEnum):
    """What became of a delivery."""

    SENT = "sent"
    """The network has taken it."""
    CONFIRMED = "confirmed"
    """The network says that it has arrived; `detail` says how far."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It left here, and nobody knows whether it arrived."""
    KEPT = "kept"
    """Nobody was attached; it is shown from the log when somebody is."""


class DeliveryStarted(Fact, frozen=True):
    """The next thing that happens is the send of message number `piece` of a delivery, from 0.

    A start without an arrival or a settlement is `unknown` after a crash.
    """

    id: DeliveryId
    attempt: int
    piece: int = 0


class DeliveryPutOff(Fact, frozen=True):
    """Nothing of message number `piece` was sent, because of `why`; it is tried again at `until`, Unix milliseconds."""

    id: DeliveryId
    piece: int
    until: int
    why: str


class PieceArrived(Fact, frozen=True):
    """One message of a delivery is there, under the network's own id."""

    id: DeliveryId
    piece: int
    platform_id: str


class PreviewStarted(Fact, frozen=True):
    """The next thing that happens is the first showing of an answer that is still being written.

    `id` is the delivery that will bring the answer.
    """

    id: DeliveryId
    address: Address


class PreviewShown(Fact, frozen=True):
    """The preview is there, and can be edited into the answer."""

    id: DeliveryId
    platform_id: str


class DeliverySettled(Fact, frozen=True):
    """A receipt. `platform_id` is the network's own id of what arrived; `detail` explains a failure."""

    id: DeliveryId
    status: DeliveryStatus
    platform_id: str = ""
    detail: str = ""


class DeliveryReach(StrEnum):
    """How far a message came, as the network told after it had taken it."""

    DELIVERED = "delivered"
    """It is on the person's device."""
    READ = "read"
    FAILED = "failed"
    """The network has given it up."""


class DeliveryReached(Fact, frozen=True):
    """What the network told later about one message of a delivery. `why` explains a failure."""

    id: DeliveryId
    platform_id: str
    reached: DeliveryReach
    why: str = ""


class DeliveryLetBe(Fact, frozen=True):
    """Somebody wants to hear no more of a delivery that failed, or may have failed; nobody is told of it any longer."""

    id: DeliveryId
    by: Principal


class TurnClosed(Fact, frozen=True):
    """The turn is over, and somebody is told why: its `DeliveryQueued` is in the same commit."""

    ending: Ending


class CheckOutcome(StrEnum):
    """What a check of a task's work came to."""

    PASSED = "passed"
    FAILED = "failed"
    SCORED = "scored"
    """It gave a number between 0 and 1."""
    HUNG = "hung"
    """It did not end in its time, and was ended."""
    CRASHED = "crashed"
    """It raised something, or its process died."""
    UNCLEAR = "unclear"
    """What it said is no verdict."""
    FLOODED = "flooded"
    """It wrote more than anybody reads, and was ended."""
    SANDBOX_GONE = "sandbox_gone"
    """The sandbox could not be reached, or was not there any more."""


class Checked(Fact, frozen=True):
    """What was done for a task was looked at by its check: `score` is 0 to 1, 0 for whatever is no verdict."""

    outcome: CheckOutcome
    score: float = 0.0
    why: str = ""
    seconds: float = 0.0


Keyed = UserSaid | Occurred | Delegated | CommandGiven | TurnedAway | SetAside | ResultsBrought
"""What came in under a platform's message id: a repeat of its key is absorbed."""

AnyFact = (
    ConversationOpened
    | UserSaid
    | MessageTakenBack
    | Occurred
    | Delegated
    | Scheduled
    | ScheduleChanged
    | OccurrencesMissed
    | WatchChecked
    | DoorMoved
    | WorkspaceMoved
    | CommandGiven
    | TurnedAway
    | SetAside
    | TranscriptAsked
    | Transcribed
    | FilesPlaced
    | SystemSaid
    | Pinned
    | Unpinned
    | CompactionRequested
    | NoteProposed
    | NoteKept
    | NoteDropped
    | NotesShown
    | Imported
    | LearningAsked
    | LearningEnded
    | SetupChanged
    | ModelAsked
    | ModelSaid
    | FilesNamed
    | SpeechAsked
    | SpeechMade
    | ModelFailed
    | HookRan
    | RemedyUsed
    | ToolStarted
    | JobSubmitted
    | ToolFinished
    | BytesLetGo
    | WordsErased
    | Administered
    | ToolsOffered
    | CallsHandedOver
    | ResultsBrought
    | FilesChanged
    | FilesTakenBack
    | WorkStarted
    | WorkEnded
    | ApprovalAsked
    | ApprovalGiven
    | ApprovalRefused
    | CancelAsked
    | ViewMoved
    | DeliveryQueued
    | DeliveryStarted
    | DeliveryPutOff
    | PieceArrived
    | PreviewStarted
    | PreviewShown
    | DeliverySettled
    | DeliveryReached
    | DeliveryLetBe
    | TurnClosed
    | Checked
)

SideFact = (
    ConversationOpened
    | ToolsOffered
    | Scheduled
    | ScheduleChanged
    | OccurrencesMissed
    | WatchChecked
    | HookRan
    | BytesLetGo
    | WordsErased
    | Administered
    | FilesChanged
    | FilesTakenBack
    | SystemSaid
    | Pinned
    | Unpinned
    | NoteProposed
    | NoteKept
    | NoteDropped
    | NotesShown
    | Imported
    | LearningAsked
    | LearningEnded
    | DeliveryQueued
    | DeliveryStarted
    | DeliverySettled
    | DeliveryReached
    | DeliveryLetBe
    | DeliveryPutOff
    | PieceArrived
    | PreviewStarted
    | PreviewShown
    | DoorMoved
    | WorkspaceMoved
    | CommandGiven
    | TurnedAway
    | SetAside
    | Checked
)
"""The facts that change nothing of where a turn stands."""


class Entry(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A fact in its place: `seq` counts from 1 without gaps, `at` is Unix milliseconds."""

    seq: int
    at: int
    fact: AnyFact
