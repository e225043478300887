"""What was said in earlier conversations."""
