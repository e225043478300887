"""Values: frozen, without I/O, clock or event loop; every other layer speaks in them."""
