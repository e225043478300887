"""Tasks of others' benches, read as tasks of ours, and the checks that judge them as their harnesses do."""
