"""How far a painter is: nothing of what is quick, then who, how far and for how long."""

import asyncio
import selectors

from angelia.tools.pictures.paint_progress import PaintProgress


class SkippingSelector(selectors.SelectSelector):
    """Waits for nothing: what would be waited for has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class Hurried(asyncio.SelectorEventLoop):
    """A loop whose seconds pass at once."""

    def __init__(self) -> None:
        self.selector = SkippingSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def lines(seconds: float, *told: tuple[float, str]) -> list[str]:
    """What is shown of so many seconds in which a painter tells this at these times."""
    shown: list[str] = []

    async def painted() -> None:
        async with PaintProgress("x paints", shown.append) as progress:
            for at, far in told:
                await asyncio.sleep(at)
                progress.tell(far)
            await asyncio.sleep(seconds - sum(at for at, _ in told))

    with asyncio.Runner(loop_factory=Hurried) as runner:
        runner.run(painted())
    return shown


def test_what_is_quick_is_not_spoken_of() -> None:
    assert lines(0.5, (0.1, "queued")) == []


def test_it_ticks_and_tells_news_at_once() -> None:
    assert lines(12.0, (0.5, "queued, 2 before it"), (3.0, "is being painted")) == [
        "x paints, queued, 2 before it …\n",
        "x paints, is being painted …\n",
        "x paints, is being painted, 6 s …\n",
        "x paints, is being painted, 11 s …\n",
    ]
