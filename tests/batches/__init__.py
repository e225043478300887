"""Batches: tasks that are read, done once each, checked whatever their checks do, and counted."""
