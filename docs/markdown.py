"""Tables, pages and blocks of Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|").replace("\n", " ") for cell in r] for r in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(title: str, about: str, *parts: str) -> str:
    """One page of the reference."""
    return "\n\n".join(part.strip("\n") for part in (f"# {title}", about, *parts) if part) + "\n"


def code(text: str, language: str = "") -> str:
    """A block that is shown as it is."""
    return f"```{language}\n{text.strip(chr(10))}\n```"
