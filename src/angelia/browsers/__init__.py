"""Browsers that the model looks at and acts in: a port, and what stands behind it."""
