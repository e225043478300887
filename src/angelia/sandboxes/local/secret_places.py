"""Where people keep credentials: places beneath a home that no sandbox shows."""

from functools import lru_cache
from pathlib import Path

from angelia.core.secret_places import SECRET_PLACES


@lru_cache(maxsize=8)  # by the hundred, and the same for each sandbox of a person
def secret_places(home: Path) -> tuple[Path, ...]:
    """Every known place of credentials beneath `home`, whether or not it exists now."""
    return tuple(home / place for place in SECRET_PLACES)
