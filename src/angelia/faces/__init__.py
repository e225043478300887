"""Doors: each turns one outside protocol into service calls and back; no rules live here."""
