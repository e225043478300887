"""Turns that begin later: scheduled, listed, ended, and silent where there is nothing to tell."""
