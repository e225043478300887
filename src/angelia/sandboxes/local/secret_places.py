"""Where people keep credentials: places beneath a home that no sandbox shows."""

from pathlib import Path

from angelia.core.secret_places import SECRET_PLACES


def secret_places(home: Path) -> tuple[Path, ...]:
    """Every known place of credentials beneath `home`, whether or not it exists now."""
    return tuple(home / place for place in SECRET_PLACES)
