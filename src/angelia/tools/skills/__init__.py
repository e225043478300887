"""The tools by which a model takes a skill."""
