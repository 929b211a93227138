// client-v1.mjs MODE ENDPOINT|COMMAND ARGS...: lists tools and makes the CALLS,
// a JSON list of [NAME, ARGUMENTS], through the first TypeScript SDK, and prints
// what it saw as JSON. MODE is ignored.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [, , , target, ...args] = process.argv;
const http = target.startsWith("http");
const transport = http
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args });
const client = new Client({ name: "v1", version: "1" });
let version = "";
transport.setProtocolVersion = ((set) => (v) => { version = v; set?.call(transport, v); })(transport.setProtocolVersion);
await client.connect(transport);
const { tools } = await client.listTools();
const answers = [];
for (const [name, args] of JSON.parse(process.env.CALLS)) {
  answers.push((await client.callTool({ name, arguments: args })).content[0].text);
}
console.log(JSON.stringify({ version, tools: tools.map((t) => t.name), answers }));
await client.close();
