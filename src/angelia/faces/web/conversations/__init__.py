"""Conversations as the page has them: followed, shown, driven, and what goes into them."""
