"""Where the owner last wrote to us in private through a door."""

from angelia.core.entry import Address
from angelia.store.tables.key_value import KeyValue


def owner_key(door: str) -> str:
    """Under this name it is remembered."""
    return f"owner-chat:{door}"


async def owner_chat(key_value: KeyValue, door: str) -> tuple[Address, str] | None:
    """The chat, and the id under which they wrote; None before they did."""
    chat, thread, sender = [*(await key_value.get(owner_key(door))).split("\n"), "", ""][:3]
    return (Address(door, chat, thread), sender) if chat else None


async def remember_owner(key_value: KeyValue, address: Address, sender: str) -> None:
    """They wrote to us in private from here: questions of ours go there."""
    where = f"{address.chat}\n{address.thread}\n{sender}"
    if await key_value.get(owner_key(address.door)) != where:
        await key_value.put(owner_key(address.door), where)
