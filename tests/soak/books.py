"""The equation at the end: dispositions = messages, answers = deliveries or told, and `verify` says the truth."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from angelia.core import entry as e
from tests.chats.test_gateway_killed import wrong

DISPOSITIONS = (e.UserSaid, e.TurnedAway, e.SetAside, e.CommandGiven)


def breaches(facts: Sequence[e.AnyFact], said: int, shown: Sequence[str]) -> list[str]:
    """What of one chat's log does not add up with what was said there and what stands there."""
    keys = Counter(fact.key for fact in facts if isinstance(fact, DISPOSITIONS) and fact.key)
    found = [] if len(keys) == said else [f"{said} messages were sent, and {len(keys)} have a disposition"]
    found += [f"{key} has {times} dispositions" for key, times in keys.items() if times > 1]
    open_now = [fact for fact in facts if isinstance(fact, e.UserSaid | e.TurnClosed)]
    if open_now and not isinstance(open_now[-1], e.TurnClosed):
        found.append("the last turn did not end")
    queued = {fact.id for fact in facts if isinstance(fact, e.DeliveryQueued)}
    settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
    found += [f"the delivery {one} was never settled" for one in sorted(queued - settled)]
    return found + wrong(facts, shown)


def verified(home: Path, env: Mapping[str, str]) -> list[str]:
    """Where `store verify` says of the home, or of a damaged copy of it, what is not so."""
    found = []
    clean = _verify(env)
    if clean.returncode:
        found.append(f"verify finds fault with a home that is in order: {clean.stdout}{clean.stderr}")
    damaged = home.with_name("damaged")
    shutil.copytree(home, damaged, ignore=shutil.ignore_patterns("*.pipe"))  # whoever opened one would wait
    database = damaged / "angelia.db"
    data = bytearray(database.read_bytes())
    at = data.rfind(b"Answer ")
    data[at : at + 6] = b"Andere"
    database.write_bytes(data)
    told = _verify({**env, "ANGELIA_HOME": str(damaged)})
    if at < 0 or not told.returncode:
        found.append(f"verify says nothing of a word that was altered: {told.stdout}{told.stderr}")
    shutil.rmtree(damaged)
    return found


def _verify(env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-m", "angelia", "store", "verify")
    return subprocess.run(words, env=dict(env), capture_output=True, text=True, check=False)
