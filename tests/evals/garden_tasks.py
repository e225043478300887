"""A small task set of Inspect AI's own kind: files lie in a sandbox, and what is there afterwards is scored."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, Content, ContentImage, ContentText
from inspect_ai.scorer import Score, Scorer, Target, accuracy, includes, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import sandbox

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
    "rkJggg=="
)


@scorer(metrics=[accuracy()])
def in_the_sandbox() -> Scorer:
    """Whether the file that was wished for is there, and the one that was to go is not."""

    async def score(state: TaskState, target: Target) -> Score:
        listed = await sandbox().exec(["sh", "-c", "cat sum.txt; ls"])
        return Score(value=listed.stdout == f"{target.text}\nharvest.csv\nsum.txt\n", explanation=listed.stdout)

    return score


@task
def files() -> Task:
    """Two samples of one sandbox each."""
    beds = {"north": "12", "south": "33"}
    samples = [
        Sample(
            id=bed,
            input=f"Add up the {bed} beds, write sum.txt, and remove old.txt.",
            target=count,
            files={"harvest.csv": f"{bed},{count}\n", "old.txt": "weeds"},
        )
        for bed, count in beds.items()
    ]
    return Task(dataset=samples, scorer=in_the_sandbox(), sandbox="local")


@task
def words() -> Task:
    """A picture and a rule that comes before the question; a question that the model has no answer to."""
    picture: list[Content] = [ContentText(text="What is this?"), ContentImage(image=PIXEL)]
    samples = [
        Sample(
            id="picture",
            input=[ChatMessageSystem(content="Answer in one word."), ChatMessageUser(content=picture)],
            target="pixel",
        ),
        Sample(id="silence", input="Say nothing.", target="pixel"),
    ]
    return Task(dataset=samples, scorer=includes())
