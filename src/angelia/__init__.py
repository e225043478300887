"""Angelia: a self-hosted agent in which nothing is lost and nothing is silent."""

__version__ = "0.1.0"
