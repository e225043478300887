"""Several gateways over one log: who has which part of the work."""
