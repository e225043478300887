"""Who may speak to the agent through a door."""

from collections.abc import Collection

from angelia.core.principal import Principal
from angelia.policy.verdict import Allow, Deny


def admit(principal: Principal, allowlist: Collection[Principal]) -> Allow | Deny:
    """Whether a principal may speak. `allowlist` holds whoever may, exactly; an empty one means nobody.

    There is no wildcard, and names are never compared.

    >>> admit(Principal("telegram", "4711"), [Principal("telegram", "4711")])
    Allow(reason='telegram:4711 is on the list.')
    """
    if principal in allowlist:
        return Allow(f"{principal} is on the list.")
    return Deny(f"{principal} is not on the list of those who may speak here.")
