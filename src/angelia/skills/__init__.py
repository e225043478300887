"""Skills by the open standard (https://agentskills.io): found, read, held to their rules, known by their bytes."""
