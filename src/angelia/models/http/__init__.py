"""HTTP to a model's server: a client, a transport, events and deadlines."""
