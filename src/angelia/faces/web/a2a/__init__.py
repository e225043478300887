"""Agent2Agent 1.0 (https://a2a-protocol.org, JSON-RPC binding): other agents give tasks, which are turns of `/v1`."""
