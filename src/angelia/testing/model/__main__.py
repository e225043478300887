"""The scripted model server as a command: prints its URL as its first line, ends with its input pipe or a signal.

python -P -m angelia.testing.model --colour
"""

import argparse
import asyncio
import os
import stat
import sys
from pathlib import Path

import msgspec

from angelia.core.errors import UNREADABLE
from angelia.testing.model.answerers import Answerer, by_replies, echo, instant, name_the_colour, rounds
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.script import ModelScript
from angelia.testing.model.server import ModelServer, ServerLimits
from angelia.testing.model.steps import Speak, Step, load_steps, slowly


def main() -> None:
    """Serve until the pipe on standard input ends (a server never outlives who started it) or a signal comes."""
    parser = _parser()
    options = parser.parse_args()
    try:
        answers = _answers(options)
    except OSError as error:
        parser.error(f"{error.filename} cannot be read: {error.strerror}")
    except UNREADABLE as error:
        parser.error(f"{options.script or options.by_replies} holds no steps: {error}")
    try:
        asyncio.run(_serve(options, answers))
    except KeyboardInterrupt:
        sys.exit(130)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -P -m angelia.testing.model", description=__doc__)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--script", type=Path, help="JSON steps, as `steps.dump_steps` writes them, taken in order")
    way.add_argument("--by-replies", type=Path, help="the same, chosen by how many replies the history holds")
    way.add_argument("--echo", action="store_true", help="answer with the person's last words")
    way.add_argument("--colour", action="store_true", help="answer with the newest picture's dominant colour")
    way.add_argument("--instant", action="store_true", help="answer with one short text")
    way.add_argument("--rounds", type=int, metavar="N", help="answer with N tool calls, then with a text")
    parser.add_argument("--command", default="true", help="the shell command of --rounds")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--first-delay", type=float, default=0.0, metavar="SECONDS", help="before the first piece")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="between pieces")
    parser.add_argument("--key", action="append", default=[], help="a key that is right; without it every one is")
    parser.add_argument("--body-limit", type=int, default=0, help="bytes of one request, 413 beyond")
    parser.add_argument("--window", type=int, default=0, help="estimated tokens, a context error beyond")
    parser.add_argument("--wire", action="append", default=[], help="a protocol that is spoken; without it all are")
    parser.add_argument("--record", type=Path, help="append one JSON line per request to this file")
    return parser


def _answers(options: argparse.Namespace) -> Answerer | list[Step]:
    if options.script:
        return load_steps(options.script.read_bytes())
    if options.by_replies:
        return by_replies(load_steps(options.by_replies.read_bytes()))
    if options.rounds is not None:
        return rounds(options.rounds, options.command)
    return echo if options.echo else name_the_colour if options.colour else instant


def _delayed(answer: Answerer, options: argparse.Namespace) -> Answerer:
    def later(request: ReceivedRequest) -> Step:
        step = answer(request)
        return slowly(step, first=options.first_delay, between=options.delay) if isinstance(step, Speak) else step

    return later if options.first_delay or options.delay else answer


def _recorded(answer: Answerer, file: Path) -> Answerer:
    def noted(request: ReceivedRequest) -> Step:
        line = {
            "number": request.number,
            "connection": request.connection,
            "wire": request.wire,
            "size": len(request.raw),
            "images": request.images,
            "body": request.body,
        }
        with file.open("ab") as lines:
            lines.write(msgspec.json.encode(line) + b"\n")
        return answer(request)

    return noted


async def _serve(options: argparse.Namespace, answers: Answerer | list[Step]) -> None:
    limits = ServerLimits(options.body_limit, options.window, tuple(options.key), tuple(options.wire))
    answer = _delayed(ModelScript(answers).step, options)
    answer = _recorded(answer, options.record) if options.record else answer
    async with ModelServer(answer, limits=limits, port=options.port) as server:
        print(server.url, flush=True)
        await _end_of_input()


async def _end_of_input() -> None:
    ended = asyncio.Event()
    if not stat.S_ISFIFO(os.fstat(0).st_mode):
        await ended.wait()
    loop = asyncio.get_running_loop()

    def look() -> None:
        if not os.read(0, 4096):
            ended.set()

    loop.add_reader(0, look)
    await ended.wait()
    loop.remove_reader(0)


if __name__ == "__main__":
    main()
