"""A fold that pauses, so that a long log is read without holding everybody else up."""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

SLICE = 100
"""Entries folded between two pauses: about a millisecond for most logs, and some 30 ms where each holds a page."""

SlicedFold = Generator[None, None, T]
"""A fold that yields after every `SLICE` entries, and returns its value. What it folds is settled when it begins."""


def at_once(fold: SlicedFold[T]) -> T:
    """The value of a fold, without a pause."""
    while True:
        try:
            next(fold)
        except StopIteration as done:
            value: T = done.value
            return value
