"""Apptainer instances as sandboxes; Singularity's command speaks the same."""
