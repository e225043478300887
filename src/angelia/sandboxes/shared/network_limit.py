"""Whether a place reaches the network: there it is a property of the whole place, and not of a command."""

from msgspec import Struct

from angelia.sandboxes.port import AccessRefused, Reach


class NetworkLimit(Struct, frozen=True):
    """Those of `place` (a container, …). It is `networked`, or would be if the setting `mend` were made."""

    place: str
    networked: bool
    mend: str

    @property
    def network(self) -> str:
        """As it is told."""
        return "on" if self.networked else "off, and it cannot be had"

    def refuse(self, reach: Reach) -> None:
        """Let only pass what can be had here.

        Raises:
            AccessRefused: a command wants the network, or out, and there is none of that.
        """
        if reach is Reach.OUTSIDE:
            raise AccessRefused(f"There is no way out of this {self.place}.", then="Run it without that reach.")
        if reach is Reach.NETWORK and not self.networked:
            raise AccessRefused(
                f"This {self.place} has no network.", then=f"A person can set {self.mend}, for the next conversation."
            )
