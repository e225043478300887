"""HTTP to whoever we call: a client, a transport, events and deadlines, beneath all that speak it."""
