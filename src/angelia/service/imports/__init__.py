"""Homes of other agents, read and taken over: nothing in them is changed, and every file is accounted for."""
