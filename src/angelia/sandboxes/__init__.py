"""Where commands run and files lie, behind one port."""
