"""HTTP as the door speaks it: requests, routes, guards, answers and streams; nothing of what is asked lies here."""
