"""For those who write tools: a harness to run them in, and what every toolset has to keep."""
