"""Who may speak to the agent through a door."""

from collections.abc import Collection

from msgspec import Struct

from angelia.policy.verdict import Allow, Deny


class Principal(Struct, frozen=True):
    """Somebody at a door. `id` is the platform's immutable id, never a name that its owner can change.

    >>> str(Principal("telegram", "4711", "Ann"))
    'telegram:4711'
    """

    door: str
    id: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.door}:{self.id}"


def admit(principal: Principal, allowlist: Collection[str]) -> Allow | Deny:
    """Whether a principal may speak. `allowlist` holds `door:id`, exactly; an empty one means nobody.

    There is no wildcard, and names are never compared.

    >>> admit(Principal("telegram", "4711"), ["telegram:4711"])
    Allow(reason='telegram:4711 is on the list.')
    """
    if not principal.door or not principal.id:
        return Deny("Nobody can be admitted without an id from the platform.")
    if str(principal) in allowlist:
        return Allow(f"{principal} is on the list.")
    return Deny(f"{principal} is not on the list of those who may speak here.")
