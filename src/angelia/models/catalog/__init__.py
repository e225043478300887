"""What there is to ask: vendors, prices, keys, and what servers offer."""
