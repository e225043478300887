"""The public test kit: scripted models, playbooks, crash harness, and what a provider, sandbox or channel must pass."""
