"""How each signal stands: where it is sent to, whether its secret can be used, and what begins on it."""

from msgspec import Struct

from angelia.core.errors import AngeliaError, ConfigError
from angelia.core.ids import short
from angelia.core.timing import OnSignal
from angelia.service.schedule.signals import SignalServices
from angelia.service.schedule.signatures import key_of
from angelia.store.tables.schedules import StoredSchedule


class SignalStanding(Struct, frozen=True):
    """One signal. `fault` says why none can be taken in now, and is empty where one can; `begins` are its schedules."""

    name: str
    scheme: str
    begins: tuple[StoredSchedule, ...]
    fault: str = ""

    @property
    def path(self) -> str:
        """Where it is sent to, behind the gateway's address."""
        return f"/in/{self.name}"

    @property
    def words(self) -> str:
        """What it begins, or why it begins nothing."""
        if self.fault:
            return self.fault
        if not self.begins:
            return f"begins nothing yet: angelia schedule add 'on signal {self.name}' WHAT"
        return ", ".join(f"{short(one.id)} ({one.state})" for one in self.begins)


async def standings(services: SignalServices, listen: str) -> list[SignalStanding]:
    """Every signal of the settings; `listen` is the gateway's address."""
    every = await services.schedules.changed(0)
    found = []
    for name, settings in sorted(services.settings.items()):
        begins = tuple(one for one in every if one.scheduled.when == OnSignal(name) and one.state != "ended")
        fault = "" if listen else "the gateway listens nowhere (gateway.listen)"
        try:
            await secret_key(services, name)
        except AngeliaError as error:
            fault = str(error)
        found.append(SignalStanding(name, settings.scheme, begins, fault))
    return found


async def secret_key(services: SignalServices, name: str) -> bytes:
    """The bytes with which a signal is signed.

    Raises:
        ConfigError: its secret is not there, or is none.
    """
    settings = services.settings[name]
    secret = await services.tokens.find(f"signal {name}", settings.secret)
    if not secret:
        where = f"The variable {settings.secret.env} is not set." if settings.secret.env else ""
        raise ConfigError(f"The secret of the signal {name} is not there.", where, f"Set signals.{name}.secret.")
    return key_of(settings.scheme, secret)
