"""Rows of one person alone: what the server shows to a role that only reads, whatever is asked of it.

`visible_to` is a condition in each query, and a query that forgets it shows everything. So a query for one person can
be run by a second role, which owns no table: policies of the tables (row-level security) let it see what is that
person's, and it may write nothing. Whose rows those are says a setting of the transaction; since every SQL can change
settings, it counts only with a proof that is made of a key which that role cannot read, and of the connection.

The tables' owner is held to no policy. `FORCE ROW LEVEL SECURITY` would have `pg_dump` by that role refused, and add
nothing, since the other one is refused here if it is a member of the owner or passes by policies.
"""

import hashlib
from collections.abc import Mapping

from angelia.core.errors import ConfigError
from angelia.core.principal import Principal
from angelia.store.port import StoreConnection

_KEY = "viewing_key"
_BY_COLUMN: Mapping[str, str] = {
    "conversations": "owner",
    "notes": "owner",
    "schedules": "owner",
    "grants": "principal",
    "spending": "principal",
    "spending_erased": "principal",
    "pairings": "principal",
}
"""Tables that say whose a row is, and the column that does."""
_BY_CONVERSATION = (
    *("entries", "inbox", "outbox", "pieces", "reached", "doors", "blob_refs", "occurrences", "questions", "leases"),
)
"""Tables whose rows are of a conversation, and are whose that is."""
_OF_DAYS: Mapping[str, str] = {"spending_days": "principal", "spending_in_days": "principal"}
"""Those that came later, in the same way."""
SHOWN = (*_BY_COLUMN, *_BY_CONVERSATION, *_OF_DAYS)
"""What that role may read of; of all other tables nothing, the index of words among them: under a policy the server
would look at whose each text is before it looks for a word. It is read as its owner, and only what stands at the places
that it gives as the person.
"""

_VIEWING = f"""
CREATE TABLE {_KEY} (key bytea NOT NULL);
INSERT INTO {_KEY} VALUES (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
CREATE FUNCTION viewing() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN current_setting('angelia.proof', true) = encode(sha256(key || sha256(
        key || convert_to(pg_backend_pid() || ' ' || current_setting('angelia.viewer', true), 'UTF8'))), 'hex')
    THEN current_setting('angelia.viewer', true) END FROM {_KEY}
$$;
"""  # noqa: S608 - fixed names


def _policy(table: str, condition: str) -> str:
    shown = f"CREATE POLICY theirs ON {table} FOR SELECT USING ({condition})"
    return f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;{shown}"


def _by_column(tables: Mapping[str, str]) -> str:
    return ";".join(_policy(table, f"{column} = (SELECT viewing())") for table, column in tables.items())


def _policies() -> str:
    seen = "EXISTS (SELECT 1 FROM conversations AS seen WHERE seen.id = {}.conversation)"
    by_conversation = [_policy(table, seen.format(table)) for table in _BY_CONVERSATION]
    return ";".join([_by_column(_BY_COLUMN), *by_conversation])


VIEWING = f"{_VIEWING}{_policies()};"
"""The statements that bring it to tables that lack it."""
VIEWING_OF_DAYS = _by_column(_OF_DAYS)
"""The same for those that came later."""


def prepare(connection: StoreConnection, role: str) -> bytes:
    """Let `role` read what the policies show, as the owner of the tables; returns the key of the proofs.

    Raises:
        ConfigError: there is no such role, or it could see more than policies show.
    """
    query = (
        "SELECT rolsuper OR rolbypassrls, pg_has_role(rolname, relowner, 'MEMBER') FROM pg_roles, pg_class"
        " WHERE rolname = ? AND pg_class.oid = to_regclass('conversations')"
    )
    found = connection.execute(query, (role,)).fetchone()
    if found is None:
        raise ConfigError(
            f"There is no role {role} in PostgreSQL, which `store_viewer` names.",
            then=f"CREATE ROLE {role} LOGIN PASSWORD '…', or leave `store_viewer` empty.",
        )
    if any(found):
        what = (
            "passes by policies (superuser, BYPASSRLS)" if found[0] else "is the owner of the tables, or their member"
        )
        raise ConfigError(
            f"The role {role} sees whatever it likes: it {what}.",
            "Policies of rows do not hold it, so it would be no second wall.",
            "Name another one in `store_viewer`: NOSUPERUSER, NOBYPASSRLS, and a member of nothing.",
        )
    name, (schema,) = _quoted(role), connection.execute("SELECT quote_ident(current_schema())").fetchone()
    connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {name}")
    connection.execute(f"GRANT SELECT ON {', '.join(SHOWN)} TO {name}")
    return bytes(connection.execute(f"SELECT key FROM {_KEY}").fetchone()[0])  # noqa: S608 - a fixed name


def view_as(connection: StoreConnection, viewer: Principal, proof: str) -> None:
    """Within a transaction: let it see what is theirs."""
    settings = "SELECT set_config('angelia.viewer', ?, true), set_config('angelia.proof', ?, true)"
    connection.execute(settings, (str(viewer), proof))


def proof_of(key: bytes, viewer: Principal, backend: int) -> str:
    """What shows the server that we say whose rows are to be seen, on the connection of this process of its."""
    inner = hashlib.sha256(key + f"{backend} {viewer}".encode()).digest()
    return hashlib.sha256(key + inner).hexdigest()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
