"""Servers of the Model Context Protocol: their tools are tools, under the same rules."""
