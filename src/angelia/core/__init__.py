"""Values: frozen, without I/O, clock or event loop; every other floor speaks in them."""
