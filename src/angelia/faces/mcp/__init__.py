"""MCP as a door: programs that speak the Model Context Protocol ask, and read what is kept."""
