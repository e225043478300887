"""What every toolset has to keep, as claims to run against your own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from angelia.sandboxes.port import Sandbox
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.port import Toolset
from angelia.tools.registry import BadCall, Registry


async def check_toolset(
    make: Callable[[], Toolset], root: Path, sandbox: Sandbox, calls: Mapping[str, Mapping[str, Any]]
) -> None:
    """One life of a toolset in a conversation, with a good call of each of its tools.

    `root` is the workspace of `sandbox`, which stays open. What the calls would do is asked, and they are not run.

    Raises:
        AssertionError: what it does not keep, in a sentence.
    """
    toolset, other = make(), make()
    assert toolset is not other, "each conversation has an object of its own"
    harness = ToolHarness(root, sandbox, [toolset])
    await harness.open()
    try:
        await _holds(harness, toolset, calls)
    finally:
        await toolset.close()
    await toolset.close()  # once more does no harm
    await other.close()  # nor without having been opened


async def _holds(harness: ToolHarness, toolset: Toolset, calls: Mapping[str, Mapping[str, Any]]) -> None:
    registry = Registry.of([toolset])
    assert not registry.faults, registry.faults[0]
    assert set(registry.names) == set(calls), f"calls are given of {sorted(calls)}, and tools are {registry.names}"
    assert [*toolset.tools()] == [*toolset.tools()], "the tools are the same objects for as long as they are the same"
    assert toolset.instructions() == toolset.instructions(), "the instructions are the same bytes while nothing changed"
    for name, arguments in calls.items():
        parsed = registry.parse(name, msgspec.json.encode(arguments).decode())
        assert not isinstance(parsed, BadCall), parsed.explanation
        tool = registry.get(name)
        assert tool is not None
        effects = await tool.effects(parsed, harness.context())
        assert effects, f"{name} names no effect, and will be denied: say `NoEffect()` where there is none"
