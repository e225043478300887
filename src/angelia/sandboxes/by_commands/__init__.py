"""Files and commands in places where running a command is all that can be done."""
