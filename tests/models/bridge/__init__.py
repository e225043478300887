"""Tests of the bridge to pydantic-ai."""
