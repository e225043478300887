"""A scripted model, over real HTTP and in the process."""
