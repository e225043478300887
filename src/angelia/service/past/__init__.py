"""Earlier conversations, as a model may search and read them."""
