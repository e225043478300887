"""Each remedy is used in one place: what it does beside its `RemedyUsed`, which is always the first fact."""

from collections.abc import Awaitable, Callable

import pytest

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.profile import Profile
from angelia.engine import machine as m
from angelia.engine.live import Live, LiveEvent, Resting
from angelia.engine.remedies import Remedy, RemedyChoice
from angelia.engine.repairs import COMPACTED, COMPACTED_HARDER, RemedyMeans, use_remedy
from angelia.testing.logs.playbook import log, opened, photo, said

pytestmark = pytest.mark.anyio

LOG = log(opened(), said("what is this?", photo()))
PROFILE = Profile("test:model", "test", "model", "openai-chat")


class TriedMeans:
    """Means that note what was turned to."""

    def __init__(self, describe: Callable[[Media], Awaitable[str]] | None = None) -> None:
        self.used: list[object] = []
        self.seen: list[LiveEvent] = []
        live = Live()
        live.watch(self.seen.append)
        self.means = RemedyMeans(LOG, live, PROFILE, "test:other", 77, self._refresh, self._shrink, describe)

    async def _refresh(self) -> None:
        self.used.append("keys")

    async def _shrink(self, share: float) -> e.ViewMoved:
        self.used.append(share)
        return e.ViewMoved("smaller")


def chosen(remedy: Remedy) -> m.UseRemedy:
    """A remedy for a busy provider that said so."""
    failure = Failure(FailureKind.BUSY, said="too many requests")
    return m.UseRemedy(RemedyChoice(failure.kind, remedy, 1), failure, 5)


@pytest.mark.parametrize("remedy", Remedy)
async def test_a_use_is_the_first_fact_of_every_remedy(remedy: Remedy) -> None:
    first, *_ = await use_remedy(chosen(remedy), TriedMeans().means)
    assert isinstance(first, e.RemedyUsed)
    assert (first.failure, first.remedy) == (FailureKind.BUSY, remedy)


@pytest.mark.parametrize(
    ("remedy", "used"),
    [
        (Remedy.REFRESH_CREDENTIAL, ["keys"]),
        (Remedy.COMPACT, [COMPACTED]),
        (Remedy.COMPACT_HARDER, [COMPACTED_HARDER]),
        *((other, []) for other in (Remedy.WAIT, Remedy.NUDGE, Remedy.NEXT_MODEL, Remedy.DROP_NATIVE)),
    ],
)
async def test_a_remedy_turns_to_what_it_needs_and_to_nothing_else(remedy: Remedy, used: list[object]) -> None:
    tried = TriedMeans()
    _, *more = await use_remedy(chosen(remedy), tried.means)
    assert tried.used == used
    if remedy in (Remedy.COMPACT, Remedy.COMPACT_HARDER):
        assert more == [e.ViewMoved("smaller")]


async def test_a_wait_is_shown_and_written_down_with_its_end() -> None:
    tried = TriedMeans()
    assert await use_remedy(chosen(Remedy.WAIT), tried.means) == [
        e.RemedyUsed(FailureKind.BUSY, Remedy.WAIT, until=77, detail="")
    ]
    assert tried.seen == [Resting(77, "too many requests")]


async def test_another_model_is_named() -> None:
    (used,) = await use_remedy(chosen(Remedy.NEXT_MODEL), TriedMeans().means)
    assert isinstance(used, e.RemedyUsed)
    assert used.detail == "test:other"


async def test_a_describing_model_that_fails_is_told_in_the_use() -> None:
    async def failing(_: Media) -> str:
        raise ModelError(Failure(FailureKind.BUSY, said="come back"))

    (used,) = await use_remedy(chosen(Remedy.DESCRIBE), TriedMeans(failing).means)
    assert isinstance(used, e.RemedyUsed)
    assert used.detail == "the describing model failed: busy: come back"


async def test_a_described_picture_is_seen_in_words() -> None:
    async def words(_: Media) -> str:
        return "a garden"

    _, moved = await use_remedy(chosen(Remedy.DESCRIBE), TriedMeans(words).means)
    assert isinstance(moved, e.ViewMoved)
    (aged,) = moved.aged
    assert aged.line.endswith(", described by another model: a garden]")
