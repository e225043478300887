"""Who is let in to the page, by what, and from where."""
