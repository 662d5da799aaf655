"""Prints a stream for `llmwiki import`: one source and so many pages that cite it."""

import hashlib
import json
import sys

count = int(sys.argv[1])
content = "The pump needs oil every 500 hours.\n"
source = hashlib.sha256(content.encode()).hexdigest()
print(json.dumps({"op": "add_source", "name": "manual", "content": content}))
for number in range(count):
    words = " ".join(f"word{number * 7 % (place * 13 + 11)}" for place in range(150))
    page = {
        "op": "upsert_page",
        "id": f"pages/{number:05}",
        "title": f"Page {number}",
        "summary": "One of many.",
        "sources": [source],
        "body": f"# Heading\n\n{words}\n\n## Another\n\n{words}\n",
    }
    print(json.dumps(page))
