"""One question about a folder:  python ask.py FOLDER 'What is in here?'."""

import sys

from angelia import BlockingAgent

with BlockingAgent(workspace=sys.argv[1]) as agent:
    print(agent.ask(sys.argv[2]))
