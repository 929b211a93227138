// client-v2.mjs MODE ENDPOINT|COMMAND ARGS...: lists, searches and calls through
// the second TypeScript SDK in the version negotiation MODE (legacy or auto), and
// prints what it saw as JSON.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [, , mode, target, ...args] = process.argv;
const http = target.startsWith("http");
const transport = http
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args });
const client = new Client({ name: "v2", version: "1" }, { versionNegotiation: { mode } });
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion();
const { tools } = await client.listTools();
const search = await client.callTool({ name: "search_tools", arguments: { query: "count the words of a text" } });
const found = JSON.parse(search.content[0].text).tools[0].qualified_name;
const result = await client.callTool({ name: "execute_tool", arguments: { tool_name: "sample/count_text", arguments: { text: "one two three" } } });
const direct = tools.some((t) => t.name === "sample__count_text")
  ? (await client.callTool({ name: "sample__count_text", arguments: { text: "one two three" } })).content[0].text
  : "";
console.log(JSON.stringify({ version, tools: tools.map((t) => t.name), found, result: result.content[0].text, direct }));
await client.close();
