"""What was paid, added up by day as it is written: triggers keep the sums, so whatever writes or erases keeps them.

A cap, the day so far and a page of what was paid are asked for often, and each of them would read every request since
then. `spending_days` has a row for each day, payer and model, erased conversations included; `spending_in_days` one for
each day of a conversation, by which the dearest of a day are found. Days are UTC's, named by when they begin, in Unix
milliseconds. A price that nobody knows is counted as `unpriced`, and adds nothing.

The statements are those of SQLite and PostgreSQL alike. In both nobody else writes meanwhile, so no row is waited for.
"""

from angelia.core.days import DAY_MS

_COUNTS = (
    "requests INTEGER NOT NULL, cost INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,"
    " unpriced INTEGER NOT NULL"
)
_TABLES = (
    f"""
    CREATE TABLE spending_days (day INTEGER NOT NULL, principal TEXT NOT NULL, model TEXT NOT NULL, {_COUNTS},
        PRIMARY KEY (day, principal, model)) STRICT, WITHOUT ROWID
    """,
    f"""
    CREATE TABLE spending_in_days (conversation TEXT NOT NULL, day INTEGER NOT NULL, principal TEXT NOT NULL, {_COUNTS},
        PRIMARY KEY (conversation, day)) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX spending_in_days_by_cost ON spending_in_days (day, cost, input)",
)
_DAY = "{row}at / " + f"{DAY_MS} * {DAY_MS}"
_KEYS = {
    "spending_days": {"day": _DAY, "principal": "{row}principal", "model": "{row}model"},
    "spending_in_days": {"conversation": "{row}conversation", "day": _DAY},
}
"""By what the rows of each table are told apart, as the row of a request has it."""
_COUNTED = {
    "requests": "1",
    "cost": "CASE WHEN {row}cost > 0 THEN {row}cost ELSE 0 END",
    "input": "{row}input",
    "output": "{row}output",
    "unpriced": "CASE WHEN {row}cost < 0 THEN 1 ELSE 0 END",
}
"""What a request adds."""
_ADDED_TO = {"spending": tuple(_KEYS), "spending_erased": ("spending_days",)}
"""Into which tables each of those that hold requests is added up."""


def _of(row: str, expressions: dict[str, str]) -> dict[str, str]:
    return {column: expression.format(row=row) for column, expression in expressions.items()}


def _add(table: str) -> str:
    own = {**_of("NEW.", _KEYS[table]), "principal": "NEW.principal", **_of("NEW.", _COUNTED)}
    sums = [f"{column} = {table}.{column} + excluded.{column}" for column in _COUNTED]
    return (
        f"INSERT INTO {table} ({', '.join(own)}) VALUES ({', '.join(own.values())})"  # noqa: S608 - names of ours
        f" ON CONFLICT ({', '.join(_KEYS[table])}) DO UPDATE SET principal = excluded.principal, {', '.join(sums)};"
    )


def _take_out(table: str) -> str:
    this = " AND ".join(f"{column} = {value}" for column, value in _of("OLD.", _KEYS[table]).items())
    less = ", ".join(f"{column} = {column} - ({value})" for column, value in _of("OLD.", _COUNTED).items())
    return f"UPDATE {table} SET {less} WHERE {this}; DELETE FROM {table} WHERE {this} AND requests = 0;"  # noqa: S608


def _acts(source: str) -> dict[str, str]:
    """What is done after each change of a row of `source`."""
    added = " ".join(map(_add, _ADDED_TO[source]))
    taken = " ".join(map(_take_out, _ADDED_TO[source]))
    return {"INSERT": added, "DELETE": taken, "UPDATE": f"{taken} {added}"}


def _summed(table: str) -> str:
    """The rows of a table as they have to be, added up from the requests themselves."""
    sources = [source for source, tables in _ADDED_TO.items() if table in tables]
    columns = dict.fromkeys([*_KEYS[table], "principal"])
    own = {**{column: column for column in columns}, **_of("", _KEYS[table])}
    every = " UNION ALL ".join(
        f"SELECT {', '.join(f'{value} AS {column}' for column, value in {**own, **_of('', _COUNTED)}.items())}"  # noqa: S608
        f" FROM {source}"
        for source in sources
    )
    sums = ", ".join(f"sum({column}) AS {column}" for column in _COUNTED)
    return f"SELECT {', '.join(columns)}, {sums} FROM ({every}) AS one GROUP BY {', '.join(columns)}"  # noqa: S608


COLUMNS = {table: ", ".join(dict.fromkeys([*keys, "principal", *_COUNTED])) for table, keys in _KEYS.items()}
"""The tables, each with its columns."""
AS_SUMMED = {table: _summed(table) for table in _KEYS}
"""What each of them has to say, as a query."""
ADD_UP = tuple(
    statement
    for table, columns in COLUMNS.items()
    for statement in (f"DELETE FROM {table}", f"INSERT INTO {table} ({columns}) {AS_SUMMED[table]}")  # noqa: S608
)
"""The statements that add all of it up anew."""
AS_VIEWS = tuple(f"CREATE TEMP VIEW {table} AS {AS_SUMMED[table]}" for table in _KEYS)
"""They in a database that has none, for a connection that changes nothing."""

DAY_SUMS = (*_TABLES, *ADD_UP)
"""The tables, filled; what keeps them is made after that."""
IN_SQLITE = tuple(
    f"CREATE TRIGGER {source}_summed_{change.lower()} AFTER {change} ON {source} BEGIN {act} END"
    for source in _ADDED_TO
    for change, act in _acts(source).items()
)
"""What keeps them in SQLite."""
IN_POSTGRES = tuple(
    f"CREATE FUNCTION {source}_summed_{change.lower()}() RETURNS trigger LANGUAGE plpgsql AS"
    f" $$ BEGIN {act} RETURN NULL; END $$;"
    f" CREATE TRIGGER {source}_summed_{change.lower()} AFTER {change} ON {source}"
    f" FOR EACH ROW EXECUTE FUNCTION {source}_summed_{change.lower()}()"
    for source in _ADDED_TO
    for change, act in _acts(source).items()
)
"""What keeps them in PostgreSQL."""
