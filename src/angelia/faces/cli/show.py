"""`angelia show` and `export`: one conversation, to read or to keep elsewhere."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.context.usage_meter import UsageMeter, cost_words
from angelia.core import entry as e
from angelia.core.codec import to_json_line
from angelia.core.counts import counted
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId, short
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.open_conversation import last_conversation
from angelia.faces.cli.options import open_to_read, settings_options
from angelia.faces.cli.trajectories import FORMATS, of_batch, trajectories
from angelia.faces.words.output import draw, echo, echo_json, hand_over
from angelia.faces.words.paint import screen
from angelia.faces.words.transcript_lines import Tone, TranscriptLine, TranscriptLines
from angelia.faces.words.widths import table
from angelia.service.conversation import left_open
from angelia.service.conversation.setups import setup_in_force

if TYPE_CHECKING:
    from angelia.service.stored_home import StoredHome


@click.command(
    epilog=("\b\nExamples:\n  angelia show 5c8r2n6h\n  angelia show --usage\n  angelia show 5c8r2n6h --json | jq")
)
@click.argument("conversation", metavar="[ID]", required=False, shell_complete=completion.conversations)
@click.option("--json", "as_json", is_flag=True, help="The entries, one JSON line each.")
@click.option("--usage", is_flag=True, help="Tokens, cached share and cost of each turn.")
@click.option("--prompt", is_flag=True, help="The system prompt of the last request.")
@settings_options
def show(conversation: str | None, as_json: bool, usage: bool, prompt: bool, **given: Any) -> int:
    """Show a conversation (the last one, if none is named) with everything that was done in it."""
    if as_json + usage + prompt > 1:
        raise BadInput("--json, --usage and --prompt do not go together.", then="Call it once for each.")
    return asyncio.run(_prompt(conversation, given) if prompt else _show(conversation, as_json, usage, given))


async def _prompt(part: str | None, given: dict[str, Any]) -> int:
    home = await open_to_read(given)
    found = await home.transcript.find(OWNER, part) if part else await last_conversation(home.transcript)
    setup = await setup_in_force(home.blobs, (await home.transcript.legible(found))[0])
    if setup is None:
        raise NotFound(f"No model has been asked in the conversation {short(found)} yet.")
    hand_over(setup.system.encode() + b"\n")
    return 0


async def _show(part: str | None, as_json: bool, usage: bool, given: dict[str, Any]) -> int:
    home = await open_to_read(given)
    found, entries = await _read(home, part)
    if as_json:
        echo_json(as_jsonl(entries).rstrip(b"\n"))
    elif usage:
        echo("\n".join(table(usage_rows(entries))))
    else:
        paint = screen()
        draw(paint.line(TranscriptLine(Tone.NOTE, f"conversation {found}{_begun(entries)}")))
        for line in transcript_lines(entries):
            blank = "\n" if line.tone in (Tone.PERSON, Tone.REPLY) else ""
            echo(blank, end="")
            draw(paint.line(line))
        if left := left_open.told(await left_open.left_open(home.transcript, [found])):
            draw(paint.line(TranscriptLine(Tone.NOTE, left)))
    return 0


def _begun(entries: Sequence[e.Entry]) -> str:
    match entries:
        case [e.Entry(at=at, fact=e.ConversationOpened(workspace=workspace)), *_]:
            return f", begun {when(at)} in {workspace}"
        case _:
            return ""  # its beginning cannot be read


async def _read(home: "StoredHome", part: str | None) -> tuple[ConversationId, list[e.Entry]]:
    """What can be read of it; what cannot is said on stderr."""
    found = await home.transcript.find(OWNER, part) if part else await last_conversation(home.transcript)
    entries, damages = await home.transcript.legible(found)
    for damage in damages:
        echo(f"angelia: {damage}", err=True)
    return found, entries


def transcript_lines(entries: Sequence[e.Entry]) -> Iterator[TranscriptLine]:
    """The whole conversation, told; a call is told with its result, so its start is left out."""
    transcript = TranscriptLines()
    for entry in entries:
        yield from (line for line in transcript.tell(entry) if line.tone is not Tone.STARTED)


def usage_rows(entries: Sequence[e.Entry]) -> list[tuple[str, ...]]:
    """A head, a row for each turn and one for all: requests, tokens in and out, cached share, cost."""
    head = ("TURN", "MODEL", "REPLIES", "IN", "CACHED", "OUT", "COST")
    rows: list[tuple[str, ...]] = [head]
    turn, whole = _Turn(), _Turn()
    for entry in entries:
        turn.add(entry)
        whole.add(entry)
        if isinstance(entry.fact, e.TurnClosed):
            rows.append(turn.row(str(len(rows))))
            turn = _Turn()
    if turn.usage_meter.replies:
        rows.append(turn.row(f"{len(rows)} (open)"))
    elif turn.usage_meter.cost or turn.usage_meter.unpriced:
        rows.append(turn.row("after"))  # answers that were spoken once the turn had ended
    return [*rows, whole.row("all")]


class _Turn:
    """The sums of one turn."""

    def __init__(self) -> None:
        self.usage_meter = UsageMeter()
        self.input = 0
        self.cached = 0
        self.output = 0

    def add(self, entry: e.Entry) -> None:
        """Count one entry."""
        self.usage_meter.add(entry)
        if isinstance(entry.fact, e.ModelSaid | e.ModelFailed | e.ViewMoved):
            usage = entry.fact.usage
            self.input, self.output = self.input + usage.input, self.output + usage.output
            self.cached += usage.cache_read

    def row(self, name: str) -> tuple[str, ...]:
        """As a row of the table."""
        share = f"{self.cached / self.input:.0%}" if self.input else "–"
        cost = cost_words(self.usage_meter.cost, self.usage_meter.unpriced)
        model = self.usage_meter.model if name != "all" else ""
        return (name, model, str(self.usage_meter.replies), f"{self.input:,}", share, f"{self.output:,}", cost)


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia export 5c8r2n6h -o garden.md\n"
        "  angelia export 5c8r2n6h --format jsonl | gzip > c.gz\n"
        "  angelia export --batch numbers-batch --format openai -o train.jsonl\n"
        "  angelia export --follow -o log.jsonl"
    )
)
@click.argument("conversations", metavar="[ID]...", nargs=-1, shell_complete=completion.conversations)
@click.option("--format", "form", type=click.Choice(["md", "jsonl", *FORMATS]), default="md", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A new file; without it, stdout.")
@click.option("--batch", type=click.Path(path_type=Path), metavar="FOLDER", help="All conversations of a batch.")
@click.option("--media", type=click.Choice(["reference", "inline"]), default="reference", show_default=True)
@click.option("--follow", is_flag=True, help="Every entry of all conversations as JSON lines, then each new one.")
@click.option("--after", default="", metavar="MARK", help="With --follow: begin after the line that has this mark.")
@settings_options
def export(conversations: tuple[str, ...], form: str, output: Path | None, **given: Any) -> int:
    """Write a conversation as Markdown, as JSON lines that hold every entry, or as a trajectory in a common format.

    openai, sharegpt and atif take many conversations, a line each, with pictures by reference or whole, and without
    known secrets. With --follow the whole log is written as it grows; a file (-o) goes on where it ended, however it
    ended.
    """
    follow, after, batch = given["follow"], given["after"], given["batch"]
    if bool(conversations or batch) == follow or (after and (output or not follow)):
        raise click.UsageError("Give the ID of a conversation, or --follow; --after is for --follow without a file.")
    if follow:
        return asyncio.run(_follow(output, after, given))
    ids = [*conversations, *(of_batch(batch) if batch else [])]
    if form in FORMATS:
        return asyncio.run(_trajectories(ids, form, output, given))
    if len(ids) > 1:
        raise click.UsageError(f"Of many conversations --format can be {', '.join(FORMATS)}.")
    return asyncio.run(_export(ids[0], form, output, given))


async def _trajectories(ids: Sequence[str], form: str, output: Path | None, given: dict[str, Any]) -> int:
    data = await trajectories(ids, form, given["media"], given)
    if output is None:
        hand_over(data)
    else:
        write_new(output, data)
        echo(f"written to {output} ({counted(len(ids), 'conversation')})", err=True)
    return 0


async def _follow(output: Path | None, after: str, given: dict[str, Any]) -> int:
    from angelia.faces.cli.follow import follow_to_file, follow_to_output

    home = await open_to_read(given)
    await (follow_to_file(home, output) if output else follow_to_output(home, after))
    return 0


async def _export(part: str, form: str, output: Path | None, given: dict[str, Any]) -> int:
    found, entries = await _read(await open_to_read(given), part)
    data = as_jsonl(entries) if form == "jsonl" else as_markdown(found, entries).encode()
    if output is None:
        hand_over(data) if form == "md" else echo_json(data.rstrip(b"\n"))
    else:
        write_new(output, data)
        echo(f"written to {output} ({counted(len(entries), 'entry')})", err=True)
    return 0


def as_jsonl(entries: Sequence[e.Entry]) -> bytes:
    """Every entry as a line; `core.codec.from_json_lines` reads it back."""
    return b"".join(to_json_line(entry) + b"\n" for entry in entries)


def as_markdown(conversation: str, entries: Sequence[e.Entry]) -> str:
    """What was said as it was written, and what was done as list items."""
    blocks = [f"# Conversation {short(conversation)}, {when(entries[0].at)}"] if entries else []
    for line in transcript_lines(entries):
        match line.tone:
            case Tone.PERSON:
                blocks.append("## You\n\n" + line.text)
            case Tone.REPLY:
                blocks.append("## Angelia\n\n" + line.text)
            case Tone.DIFF:
                blocks.append(f"{_fence(line.text)}diff\n{line.text}\n{_fence(line.text)}")
            case _:
                blocks.append("- " + line.text.replace("\n", "\n  "))
    return "\n\n".join(blocks) + "\n"


def _fence(text: str) -> str:
    """Backticks enough that nothing in the text ends the block."""
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


def write_new(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet, readable by its owner alone.

    Raises:
        BadInput: it exists, or cannot be written.
    """
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
    except FileExistsError:
        raise BadInput(f"{path} exists already; nothing was written.", then="Name another file.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from error
