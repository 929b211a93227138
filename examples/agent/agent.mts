// An agent's loop over tooldex: the model sees six tools, whatever stands behind them.
//
//     npm install @modelcontextprotocol/client
//     tooldex serve &
//     npx tsx agent.mts "how many words has README.md?"
//
// CHAT_URL is any chat endpoint that speaks OpenAI's protocol (default: a local
// Ollama), CHAT_MODEL its model, CHAT_KEY its key; TOOLDEX_URL is tooldex's.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

interface ToolCall { id: string; function: { name: string; arguments: string } }
interface Message { role: string; content: string; tool_call_id?: string; tool_calls?: ToolCall[] }

const env = (name: string, otherwise: string) => process.env[name] ?? otherwise;
const turns = 12; // a model that finds nothing must not go on for ever

async function answer(question: string): Promise<string> {
  const tooldex = new Client({ name: "agent", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await tooldex.connect(new StreamableHTTPClientTransport(new URL(env("TOOLDEX_URL", "http://127.0.0.1:7420/mcp"))));
  try {
    const tools = (await tooldex.listTools()).tools.map(({ name, description, inputSchema }) => ({
      type: "function", function: { name, description, parameters: inputSchema },
    }));
    const messages: Message[] = [{ role: "system", content: tooldex.getInstructions() ?? "" }, { role: "user", content: question }];
    for (let i = 0; i < turns; i++) {
      const said = await chat(messages, tools);
      messages.push(said);
      if (!said.tool_calls?.length) return said.content;
      for (const call of said.tool_calls) messages.push(await run(tooldex, call));
    }
    return `no answer within ${turns} turns`;
  } finally {
    await tooldex.close();
  }
}

async function chat(messages: Message[], tools: object[]): Promise<Message> {
  const key = process.env.CHAT_KEY;
  const reply = await fetch(env("CHAT_URL", "http://127.0.0.1:11434/v1/chat/completions"), {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: env("CHAT_MODEL", "qwen3"), messages, tools }),
  });
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
  return (await reply.json()).choices[0].message;
}

// A mistake of the model comes back as text that says what to do, so it goes
// back to the model.
async function run(tooldex: Client, call: ToolCall): Promise<Message> {
  const { name, arguments: text } = call.function;
  console.error(`  ${name} ${text}`);
  let content: string;
  try {
    const result = await tooldex.callTool({ name, arguments: JSON.parse(text || "{}") });
    content = result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n");
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    content = `the arguments are no JSON: ${err.message}`;
  }
  return { role: "tool", tool_call_id: call.id, content };
}

console.log(await answer(process.argv.slice(2).join(" ")));
