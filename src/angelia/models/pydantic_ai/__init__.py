"""The bridge to every model of pydantic-ai."""
