"""How fast and how small Angelia is, beside yardsticks measured in the same run."""
