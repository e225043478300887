"""One question to many folders at once, three at a time:  python many_folders.py 'What is this?' ~/projects/*."""

import asyncio
import sys

from angelia import Agent, AngeliaError


async def ask(question: str, folder: str, at_once: asyncio.Semaphore) -> str:
    """The answer of one folder, or why there is none."""
    async with at_once, Agent(workspace=folder, settings={"policy.mode": "plan"}) as agent:
        try:
            return f"## {folder}\n\n{await agent.ask(question)}\n"
        except AngeliaError as error:
            return f"## {folder}\n\nNo answer: {error}\n"


async def main(question: str, *folders: str) -> None:
    """Print each answer when it is there."""
    at_once = asyncio.Semaphore(3)
    for answer in asyncio.as_completed([ask(question, folder, at_once) for folder in folders]):
        print(await answer)


asyncio.run(main(*sys.argv[1:]))
