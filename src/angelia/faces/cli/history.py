"""`angelia sessions`, `search`, `delete` and `receipts`: what is kept, and the one way to erase it."""

import asyncio
import sys
from typing import Any

import click
import msgspec

from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.ids import SHORT, short
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.open_conversation import last_conversation
from angelia.faces.cli.options import Whole, open_app, open_to_read, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import asked, echo, echo_json, sure
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.conversation import left_open
from angelia.service.conversation.listing import conversation_rows
from angelia.service.receipts import DOUBTFUL, let_be, receipt_rows
from angelia.tools.shell.output import plain

LAST = 4
"""Characters of an id that are typed to delete its conversation."""


@click.command(epilog=("\b\nExamples:\n  angelia sessions\n  angelia sessions --limit 200 --json"))
@click.option("--limit", type=Whole(min=1), default=30, show_default=True, help="How many, at most.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line for each.")
@settings_options
def sessions(limit: int, as_json: bool, **given: Any) -> int:
    """List conversations, the most recently used first."""
    return asyncio.run(_sessions(limit, as_json, given))


async def _sessions(limit: int, as_json: bool, given: dict[str, Any]) -> int:
    home = await open_to_read(given)
    rows = await home.transcript.conversations(OWNER, limit)
    left = await left_open.left_open(home.transcript, [row.id for row in rows])
    if as_json:
        for row in rows:
            told = {**msgspec.to_builtins(row), "owner": str(row.owner), "left_open": row.id in left}
            echo_json(msgspec.json.encode(told))
    elif rows:
        echo("\n".join(table(conversation_rows(rows), screen().columns if sys.stdout.isatty() else 0)))
        if left:
            echo(f"angelia: {left_open.told(left)}", err=True)
    else:
        echo("There is no conversation yet. `angelia` begins one.", err=True)
    return 0


@click.command(
    epilog=("\b\nExamples:\n  angelia search tax return\n  angelia search '\"exact words\"'\n  angelia search 'invoi*'")
)
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=Whole(min=1, max=100), default=20, show_default=True)
@click.option(
    "--ranked", is_flag=True, help="What holds any of the words, the best match first, each with its surroundings."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line for each.")
@settings_options
def search(words: tuple[str, ...], limit: int, ranked: bool, as_json: bool, **given: Any) -> int:
    """Find words in all conversations: in what was said, file names, and the beginning of results. Newest first."""
    looking = _search_ranked if ranked else _search
    return asyncio.run(looking(" ".join(words), limit, as_json, given))


async def _search_ranked(query: str, limit: int, as_json: bool, given: dict[str, Any]) -> int:
    from angelia.service.past.find_past import find_past
    from angelia.service.past.words import hit_lines, searched
    from angelia.store.log.ranked_search import Within
    from angelia.tools.past.access import PastQuestion

    app = await open_app(given)  # what was said since the last search is indexed first, which a reader cannot
    with working("searching"):
        looked = await find_past(app.db, Within(OWNER), query, limit, app.reranking)
    found = looked.found
    for hit in found.hits:
        if as_json:
            echo_json(msgspec.json.encode(hit))
        else:
            echo(plain(hit_lines(hit)) + "\n")
    echo(f"{searched(found, PastQuestion(query))} {looked.told}".rstrip(), err=True)
    await app.close()
    return 0


async def _search(query: str, limit: int, as_json: bool, given: dict[str, Any]) -> int:
    from angelia.store.log.search import search as look

    home = await open_to_read(given)
    with working("searching"):
        found = await look(home.db, OWNER, query, limit)
    hits = found.hits
    for damage in found.damaged:
        echo(f"angelia: {damage}", err=True)
    if as_json:
        for hit in hits:
            echo_json(msgspec.json.encode(hit))
    elif hits:
        rows = [(short(hit.conversation), when(hit.at), hit.snippet) for hit in hits]
        echo("\n".join(table(rows, screen().columns if sys.stdout.isatty() else 0)))
    else:
        echo(f"Nothing holds all of: {query}", err=True)
    return 0


@click.command(
    epilog=f"\b\nExample:\n  angelia delete 5c8r2n6h   (asks, then wants the last {LAST} characters of the id)"
)
@click.argument("conversation", metavar="ID", shell_complete=completion.conversations)
@click.option("--yes-really", is_flag=True, help="Ask nothing; for scripts.")
@settings_options
def delete(conversation: str, yes_really: bool, **given: Any) -> int:
    """Erase a conversation for good, with those of its files that no other conversation refers to."""
    return asyncio.run(_delete(conversation, yes_really, given))


async def _delete(part: str, yes_really: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    found = await app.transcript.find(OWNER, part)
    entries, _ = await app.transcript.legible(found)
    learnt = len(await app.notes.of_conversation(found))
    if not yes_really and not _sure(found, len(entries), learnt):
        echo("Nothing was deleted.", err=True)
        return 1
    left = await app.deletion.delete(found)
    went = f", and {_notes(learnt)} with it" if learnt else ""
    echo(f"The conversation {short(found)} is erased{went}.", err=True)
    if left:
        echo(f"Its sandbox is left behind: {left}\n`angelia sandbox prune` tries again.", err=True)
    return int(bool(left))


def _notes(count: int) -> str:
    return f"{counted(count, 'note')} that {'were' if count > 1 else 'was'} made in it"


def _sure(conversation: str, count: int, learnt: int) -> bool:
    if not sys.stdin.isatty():
        raise BadInput("Deleting asks twice, and nobody is here to answer.", then="Scripts say --yes-really.")
    went = f" {_notes(learnt).capitalize()} go{'es' * (learnt == 1)} with it." if learnt else ""
    entries = counted(count, "entry")
    if not sure(f"Erase the conversation {short(conversation)} ({entries})?{went} This cannot be undone."):
        return False
    typed = asked(f"To be sure, type the last {LAST} characters of {conversation}", err=True)
    return typed.strip().lower() == conversation[-LAST:]


@click.command(
    epilog=f"\b\nExamples:\n  angelia receipts\n  angelia receipts 5c8r2n6h   (ids have {SHORT} characters here)"
)
@click.argument("conversation", metavar="[ID]", required=False, shell_complete=completion.conversations)
@click.option(
    "--let-be", "rest", is_flag=True, help="Be told no more of what failed, or may have failed; the log keeps it."
)
@settings_options
def receipts(conversation: str | None, rest: bool, **given: Any) -> int:
    """Show what a conversation (the last one, if none is named) delivered, and what became of it."""
    return asyncio.run(_let_be(conversation, given) if rest else _receipts(conversation, given))


async def _let_be(part: str | None, given: dict[str, Any]) -> int:
    app = await open_app(given)
    found = await app.transcript.find(OWNER, part) if part else await last_conversation(app.transcript)
    doubtful = [one for one in await app.outbox.receipts(OWNER, found) if one.status in DOUBTFUL]
    for one in doubtful:
        await let_be(app.transcript, one, OWNER)
    what = "1 delivery is" if len(doubtful) == 1 else f"{len(doubtful)} deliveries are"
    echo(f"{what} let be in {short(found)}." if doubtful else "No delivery failed, or may have.")
    await app.close()
    return 0


async def _receipts(part: str | None, given: dict[str, Any]) -> int:
    home = await open_to_read(given)
    found = await home.transcript.find(OWNER, part) if part else await last_conversation(home.transcript)
    lines = table(
        receipt_rows(await home.outbox.receipts(OWNER, found)), screen().columns if sys.stdout.isatty() else 0
    )
    echo("\n".join(lines) or "Nothing was delivered.")
    return 0
