"""Words to sound."""
