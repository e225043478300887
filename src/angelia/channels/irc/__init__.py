"""IRC: a connection, its lines, and messages that count as sent once the server has proved that it took them."""
