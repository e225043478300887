"""Containers as sandboxes, through the Docker Engine API; Podman's compatible socket speaks it too."""
