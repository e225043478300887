"""A long job that goes on where it stopped:  python go_on.py FOLDER 'Rewrite every page in simple words.'.

Kill it whenever you like, and start it again with the same words: what was done is not done again.
"""

import sys
from pathlib import Path

from angelia import BlockingAgent

folder, job = sys.argv[1:3]
begun = Path(f"{folder.rstrip('/')}.job")

with BlockingAgent(workspace=folder) as agent:
    with agent.conversation(begun.read_text() if begun.exists() else "") as talk:
        if talk.unfinished:
            print("Going on.", file=sys.stderr)
            answer = talk.resume()
        else:
            begun.write_text(talk.id)
            answer = talk.ask(job)
    begun.unlink()
print(answer)
