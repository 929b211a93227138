"""client.py ENDPOINT|COMMAND ARGS...: lists tools and makes the CALLS, a JSON list
of [NAME, ARGUMENTS], through Python's SDK, and prints what it saw as JSON."""
import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def main(target, *args):
    if target.startswith("http"):
        transport = streamablehttp_client(target)
    else:
        transport = stdio_client(StdioServerParameters(command=target, args=list(args)))
    async with transport as (read, write, *_), ClientSession(read, write) as session:
        version = (await session.initialize()).protocolVersion
        tools = [t.name for t in (await session.list_tools()).tools]
        answers = [(await session.call_tool(name, arguments)).content[0].text for name, arguments in json.loads(os.environ["CALLS"])]
        print(json.dumps({"version": version, "tools": tools, "answers": answers}))


asyncio.run(main(*sys.argv[1:]))
