"""What several sandboxes share."""
