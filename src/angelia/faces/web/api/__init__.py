"""The house's own API, `/api`: what the page asks, and programs by `angelia.client`."""
