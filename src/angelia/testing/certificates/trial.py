"""Tries one claim: whatever is raised breaks it, since what is tried may be anybody's."""

from collections.abc import Awaitable

from angelia.core.errors import AngeliaError
from angelia.testing.certificates.certificate import TriedClaim


async def tried(claim: str, trial: Awaitable[object]) -> TriedClaim:
    """What came of one claim, with what broke it in words."""
    try:
        await trial
    except Exception as error:  # noqa: BLE001 - the certificate says it
        return TriedClaim(claim, 1, (_in_words(error),))
    return TriedClaim(claim, 1)


def _in_words(error: Exception) -> str:
    """A sentence of ours as it is; a mistake in what is tried with its kind, without which it may say nothing."""
    match error:
        case TimeoutError():
            return str(error) or "it did not come to an end in its time"
        case AssertionError() | AngeliaError() | OSError() if str(error):
            return str(error)
        case _:
            return f"{type(error).__name__}: {error}".removesuffix(": ")
