"""The conformance kit for sandboxes: every sandbox runs it, third-party ones too.

    for check in checks():
        await check.run(make)     # `make` gives a fresh sandbox: an async context manager

The checks need a POSIX shell with coreutils (or busybox) inside, and nothing else.
"""

from angelia.testing.claims import CheckFailed
from angelia.testing.sandboxes.acts import FULL, Make, SandboxCheck, Sizes
from angelia.testing.sandboxes.commands import COMMAND_CLAIMS
from angelia.testing.sandboxes.files import FILE_CLAIMS
from angelia.testing.sandboxes.input import INPUT_CLAIMS

__all__ = ["FULL", "CheckFailed", "Make", "SandboxCheck", "Sizes", "checks"]


def checks(sizes: Sizes | None = None) -> list[SandboxCheck]:
    """Every check, each independent of the others; `sizes` are small unless given."""
    return [
        SandboxCheck(claim.__name__.replace("_", " "), claim, sizes or Sizes())
        for claim in (*COMMAND_CLAIMS, *INPUT_CLAIMS, *FILE_CLAIMS)
    ]
