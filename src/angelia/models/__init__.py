"""What asks models, each provider in its protocol; they know nothing of the log, the turn or each other."""
