"""An MCP server over stdio whose tools are not as the protocol has them."""
import json
import sys

TOOLS = [
    {"name": "null_schema", "inputSchema": None},
    {"name": "no_schema", "title": None, "description": 7},
    {"name": "odd_members", "inputSchema": {"properties": {"a": True}, "required": "a"}, "annotations": [], "icons": {}, "_meta": None},
    {"name": "odd_hints", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}, "outputSchema": True},
    {"name": "lists", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
]
for line in sys.stdin:
    m = json.loads(line)
    reply = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}},
        "tools/list": {"tools": TOOLS},
        "ping": {},
    }.get(m.get("method"))
    if "id" in m:
        said = {"error": {"code": -32601, "message": "method not found"}} if reply is None else {"result": reply}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **said}), flush=True)
