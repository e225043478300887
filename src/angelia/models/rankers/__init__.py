"""What orders passages anew by how near they are to a question."""
