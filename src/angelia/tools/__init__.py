"""Tools that a model can call; every effect passes `engine/broker.py`."""
