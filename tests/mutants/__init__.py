"""Rules taken out by hand, each with the test that must go red without it; `make soak` tries them all."""
