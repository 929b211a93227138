"""An agent's loop over tooldex: the model sees six tools, whatever stands behind them.

    pip install mcp
    tooldex serve &
    python agent.py "how many words has README.md?"

CHAT_URL is any chat endpoint that speaks OpenAI's protocol (default: a local
Ollama), CHAT_MODEL its model, CHAT_KEY its key; TOOLDEX_URL is tooldex's.
"""

import asyncio
import json
import os
import sys

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

TOOLDEX = os.environ.get("TOOLDEX_URL", "http://127.0.0.1:7420/mcp")
CHAT = os.environ.get("CHAT_URL", "http://127.0.0.1:11434/v1/chat/completions")
MODEL = os.environ.get("CHAT_MODEL", "qwen3")
TURNS = 12  # a model that finds nothing must not go on for ever


async def answer(question: str) -> str:
    async with streamablehttp_client(TOOLDEX) as (read, write, _), ClientSession(read, write) as tooldex:
        about = await tooldex.initialize()
        tools = [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.inputSchema}}
            for t in (await tooldex.list_tools()).tools
        ]
        messages = [{"role": "system", "content": about.instructions or ""}, {"role": "user", "content": question}]
        for _ in range(TURNS):
            said = await chat(messages, tools)
            messages.append(said)
            if not said.get("tool_calls"):
                return said["content"]
            for call in said["tool_calls"]:
                messages.append(await run(tooldex, call))
    return f"no answer within {TURNS} turns"


async def chat(messages: list, tools: list) -> dict:
    key = os.environ.get("CHAT_KEY")
    async with httpx.AsyncClient(timeout=300, headers={"Authorization": f"Bearer {key}"} if key else {}) as http:
        reply = await http.post(CHAT, json={"model": MODEL, "messages": messages, "tools": tools})
        reply.raise_for_status()
        return reply.json()["choices"][0]["message"]


async def run(tooldex: ClientSession, call: dict) -> dict:
    """A mistake of the model comes back as text that says what to do, so it goes back to the model."""
    function = call["function"]
    try:
        result = await tooldex.call_tool(function["name"], json.loads(function["arguments"] or "{}"))
        text = "\n".join(c.text for c in result.content if c.type == "text")
    except json.JSONDecodeError as err:
        text = f"the arguments are no JSON: {err}"
    print(f"  {function['name']} {function['arguments']}", file=sys.stderr)
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
