"""The public test kit: scripted models, playbooks, crash harness, and checks that rooms must pass."""
