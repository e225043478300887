"""Machines over SSH as sandboxes."""
