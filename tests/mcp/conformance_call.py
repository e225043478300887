"""What the conformance kit starts as a client: it has somebody who is awake already do it, over a socket.

A process that loads all of Angelia takes two seconds of a processor, and the kit starts thirty of them.
"""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as there:
    there.connect(sys.argv[1])
    asked = {
        "url": sys.argv[-1],
        "scenario": os.environ.get("MCP_CONFORMANCE_SCENARIO", ""),
        "context": json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"),
    }
    there.sendall(json.dumps(asked).encode() + b"\n")
    with there.makefile() as answer:
        code, _, said = answer.read().partition("\n")
print(said, file=sys.stderr)
sys.exit(int(code or 1))
