"""How far a command can be held in this sandbox."""

from angelia.sandboxes.port import Reach, Sandbox


async def reach_here(sandbox: Sandbox, wanted: Reach) -> Reach:
    """`wanted`; where commands cannot be confined, or need not be, there is only one reach.

    That is no silent fallback: there the policy puts every command of a model to a person first, with that reason.
    What tools run on their own (readlink, rg, find, grep) is fixed, quoted, and only looks at what was judged.
    """
    return wanted if (await sandbox.describe()).confined else Reach.OUTSIDE
