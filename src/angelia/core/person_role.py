"""What somebody is in a home: one of four roles, each with all that the one below it has."""

from enum import StrEnum


class PersonRole(StrEnum):
    """As what somebody is let in. What each may do is the table in `policy/roles.py`."""

    OWNER = "owner"
    """The person whose home it is: approves, and sees everything."""
    ADMIN = "admin"
    """Keeps order among the others: lets them in, and says how a group works."""
    MEMBER = "member"
    """Has it work for them; what needs a yes is asked of the owner."""
    GUEST = "guest"
    """Talks to it; what needs a yes is refused."""
