"""Whether kept secrets may be given to a site, or to a command."""

from angelia.core.text import one_line
from angelia.policy.grants import remember_pattern
from angelia.policy.shell.risk import CommandContext
from angelia.policy.situation import Confinement, Mode, NetworkSetting, Situation
from angelia.policy.verdict import Allow, Ask, Deny, GiveSecret, UseSecret, Verdict


def may_give_to_site(effect: UseSecret, situation: Situation) -> Verdict:
    """That a secret is kept for a site says where it may go, and not that it is to go there now: that asks in every
    mode, once for each site.
    """
    if situation.network is NetworkSetting.OFF:
        return Deny("The network is switched off by the setting `network`.")
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode pages are only looked at, and no secret is given to one.")
    pattern = f"secrets for: {effect.origin}"
    if pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    question = f"Give {', '.join(effect.handles)} to {effect.origin}?"
    return Ask(question, "Whoever runs that site gets the value, and neither model nor log does.", pattern)


def may_give_to_command(effect: GiveSecret, situation: Situation, context: CommandContext) -> Verdict:
    """A command can do anything with what it has, so each asks, in every mode.

    A yes is remembered for exactly these words, as far as they reach, and only where they say all that the command
    does (`gh`, `git`, `aws`): with a test or a script the same words are another act once a file has changed.
    """
    if situation.mode is Mode.PLAN:
        return Deny("In plan mode no secret is given to a command. Leave plan mode for it (/mode edit).")
    command, confined = effect.command, situation.confinement is Confinement.REAL
    hosts = command.hosts if confined and command.reach == "network" else ()
    reach = command.reach if confined or command.reach == "outside" else "unconfined"
    words = remember_pattern(command.command, context, "outside").removeprefix("outside: ")
    far = " ".join((*(f"{handle}={variable}" for handle, variable in effect.secrets), reach, *hosts))
    pattern = f"give: {far}: {words}" if words else ""
    if pattern and pattern in situation.granted:
        return Allow(f"You said yes to `{pattern}`.")
    given = ", ".join(f"{handle} (as {variable})" for handle, variable in effect.secrets)
    where = "It has no network." if reach == "confined" else f"It can send it to {', '.join(hosts) or 'any host'}."
    question = f"Give {given} to `{one_line(command.command)}`?"
    return Ask(question, f"Whatever this command runs gets the value, and model and log do not. {where}", pattern)
