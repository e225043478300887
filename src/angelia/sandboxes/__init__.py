"""Rooms where commands run and files lie."""
