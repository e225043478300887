"""What doors share: how things that happened are said in words."""
