"""The limits of a place, as the model is told them, with their numbers."""

from collections.abc import Sequence


def limits(memory_mb: int, cpus: float, *more: str, nothing: str) -> str:
    """A sentence: `memory_mb` are 1,000,000 bytes, `cpus` are cores, 0 is none; `more` are phrases, or empty.

    `nothing` is the whole sentence where no limit is set.
    """
    memory = f"{memory_mb:,} MB of memory" if memory_mb else ""
    cores = f"{cpus:g} processor core{'' if cpus == 1 else 's'}" if cpus else ""
    said = [phrase for phrase in (memory, cores, *more) if phrase]
    return f"All that runs here has at most {_and(said)}." if said else nothing


def processes(most: int) -> str:
    """A phrase for at most so many; empty with 0."""
    return f"{most:,} processes" if most else ""


def _and(phrases: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))
