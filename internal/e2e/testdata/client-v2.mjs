// client-v2.mjs MODE ENDPOINT|COMMAND ARGS...: lists tools and makes the CALLS,
// a JSON list of [NAME, ARGUMENTS], through the second TypeScript SDK in the version
// negotiation MODE (legacy or auto), and prints what it saw as JSON.
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
const answers = [];
for (const [name, args] of JSON.parse(process.env.CALLS)) {
  answers.push((await client.callTool({ name, arguments: args })).content[0].text);
}
console.log(JSON.stringify({ version, tools: tools.map((t) => t.name), answers }));
await client.close();
