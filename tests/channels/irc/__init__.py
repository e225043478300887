"""IRC, against a strict server of our own that can misbehave, and against ngIRCd."""
