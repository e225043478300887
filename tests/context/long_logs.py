"""Long logs of every awkward shape, for the compaction tests."""

from random import Random

from angelia.context.budget import Allowance, fixed_size
from angelia.context.compaction import CompactionInput
from angelia.context.view import project
from angelia.core import entry as e
from angelia.core.content import BlobRef, CallStatus, Content, Media, MediaKind, Text, ToolCall
from angelia.core.ending import Answered
from angelia.core.ids import call_id
from angelia.core.profile import Ability, ImageLimits, Profile

MB = 1_000_000
PROFILE = Profile(
    "v:m",
    "v",
    "m",
    "openai-chat",
    window=200_000,
    images=Ability.YES,
    documents=Ability.YES,
    body_limit=20 * MB,
    image_limits=ImageLimits(tokens="pixels", long_edge=1568),
)


class Story:
    """A log being written."""

    def __init__(self) -> None:
        self.log: list[e.Entry] = []
        self.add(e.ConversationOpened("terminal", "/work"))

    def add(self, fact: e.AnyFact) -> int:
        """Append one fact; returns its number."""
        self.log.append(e.Entry(len(self.log) + 1, len(self.log), fact))
        return len(self.log)

    def say(self, *parts: Content) -> int:
        """A person speaks."""
        return self.add(e.UserSaid(parts))

    def ask(self, *heard: int) -> int:
        """A request goes out."""
        return self.add(e.ModelAsked("v:m", 1, heard))

    def answer(self, text: str, asked: int, *calls: tuple[str, str]) -> None:
        """A reply, with calls as (tool, arguments)."""
        made = [ToolCall(call_id(asked, i), name, arguments) for i, (name, arguments) in enumerate(calls)]
        self.add(e.ModelSaid("v:m", (Text(text), *made), e.StopReason.TOOL_CALLS if calls else e.StopReason.END))

    def result(self, asked: int, index: int, *parts: Content) -> None:
        """What a call came to."""
        self.add(e.ToolStarted(call_id(asked, index)))
        self.add(e.ToolFinished(call_id(asked, index), CallStatus.OK, parts))

    def turn(self, *parts: Content, reply: str = "done") -> None:
        """A whole turn without tools."""
        said = self.say(*parts)
        self.answer(reply, self.ask(said))
        self.add(e.TurnClosed(Answered()))


def picture(number: int, size: int = 2 * MB) -> Media:
    """A picture of its own."""
    return Media(BlobRef(f"{number:064x}", size, "image/png"), MediaKind.IMAGE, f"shot-{number}.png", 1920, 1080)


def ground(log: list[e.Entry], *, running: int, profile: Profile = PROFILE, tokens: int = 150_000) -> CompactionInput:
    """What a plan stands on."""
    return CompactionInput(
        log,
        project(log, profile),
        Allowance(tokens, int(profile.body_limit * 0.95)),
        fixed_size("prompt", ()),
        (running,),
    )


def awkward(seed: int) -> tuple[list[e.Entry], int]:
    """A long random log and the entry of its running request: huge messages, images, results, interruptions."""
    random = Random(seed)
    story = Story()
    for _ in range(random.randrange(1, 25)):
        parts: list[Content] = [Text("word " * random.choice([1, 5, 200, 20_000]))]
        parts += [picture(random.randrange(10**6)) for _ in range(random.choice([0, 0, 1, 3]))]
        said = story.say(*parts)
        asked = story.ask(said)
        for _ in range(random.randrange(4)):
            story.answer("working", asked, ("read", '{"path":"a"}'), ("shell", '{"command":"make"}'))
            story.result(asked, 0, Text("line\n" * random.choice([1, 300, 40_000])))
            if random.random() < 0.1:
                asked = story.ask()
                break
            story.result(asked, 1, Text("out"), *([picture(random.randrange(10**6))] if random.random() < 0.3 else []))
            asked = story.ask()
        story.answer("done " * random.choice([1, 400]), asked)
        story.add(e.TurnClosed(Answered()))
    running = story.say(Text("the running request " * random.choice([1, 50])))
    return story.log, running
