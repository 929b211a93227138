// client.mjs FOLDER ENDPOINT USER: the TypeScript SDK's own client, with the SDK in
// FOLDER/node_modules, logs in at whatever ENDPOINT names, in a browser that fills in
// forms as USER, and lists and calls tools. Then it obeys lines on stdin: "call NAME
// ARGUMENTS" within its session, "refresh" for a new token. It prints a JSON object for
// each.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
const [folder, endpoint, user] = process.argv.slice(2);
const resolve = createRequire(folder + '/').resolve, of = name => import(resolve('@modelcontextprotocol/sdk/' + name));
const { Client } = await of('client/index.js');
const { StreamableHTTPClientTransport } = await of('client/streamableHttp.js');
const { auth, UnauthorizedError } = await of('client/auth.js');

// browse follows an address to the client's own, through each form on its way.
async function browse(url) {
  const jars = {}, decode = s => s.replaceAll('&amp;', '&').replaceAll('&#x2F;', '/').replaceAll('&quot;', '"');
  let request = {};
  for (let step = 0; step < 20; step++) {
    const jar = jars[url.host] ??= {};
    const res = await fetch(url, { ...request, redirect: 'manual', headers: { ...request.headers, cookie: Object.entries(jar).map(c => c.join('=')).join('; ') } });
    for (const line of res.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
      jar[name] = value;
    }
    request = {};
    const text = await res.text(), to = res.headers.get('location');
    if (to) {
      url = new URL(to, url);
      if (url.pathname === '/called-back') return url;
      continue;
    }
    const form = text.match(/<form[^>]*action="([^"]+)"[^>]*>/);
    if (!form) throw new Error(`no form at ${url}: ${res.status} ${text.slice(0, 500)}`);
    const fields = new URLSearchParams();
    for (const [input] of text.matchAll(/<input[^>]*>/g)) {
      const name = input.match(/name="([^"]+)"/), value = input.match(/value="([^"]*)"/);
      if (name && name[1] !== 'cancel') fields.set(name[1], decode(value ? value[1] : ''));
    }
    for (const [key, value] of Object.entries({ username: user, login: user, password: 'password of ' + user })) if (fields.has(key)) fields.set(key, value);
    url = new URL(decode(form[1]), url);
    request = { method: 'POST', body: fields.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  }
  throw new Error(`no end at ${url}`);
}

const kept = {};
let landed;
const provider = {
  redirectUrl: 'http://127.0.0.1:9/called-back',
  clientMetadata: { client_name: 'the TypeScript SDK', redirect_uris: ['http://127.0.0.1:9/called-back'], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' },
  clientInformation: () => kept.client,
  saveClientInformation: c => { kept.client = c; },
  tokens: () => kept.tokens,
  saveTokens: t => { kept.tokens = t; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: v => { kept.verifier = v; },
  redirectToAuthorization: async url => { landed = await browse(url); },
};
const transport = () => new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: provider });
const say = o => console.log(JSON.stringify(o));
const call = async (name, args) => {
  try {
    return { text: (await client.callTool({ name, arguments: args })).content[0].text };
  } catch (err) {
    return { error: String(err.code ?? '') + ' ' + err.message };
  }
};
const client = new Client({ name: 'identity', version: '1' });
let used = transport();
try {
  await client.connect(used);
} catch (err) {
  if (!(err instanceof UnauthorizedError) || !landed) throw err;
  await used.finishAuth(landed.searchParams.get('code'));
  used = transport();
  await client.connect(used);
}
say({ tools: (await client.listTools()).tools.map(t => t.name), token: kept.tokens.access_token, registered: Boolean(kept.client?.client_id) });
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, name, ...args] = line.split(' ');
  if (verb === 'call') say(await call(name, JSON.parse(args.join(' ') || '{}')));
  else {
    const got = await auth(provider, { serverUrl: endpoint }); // as it has a refresh token, by that
    say({ refreshed: got, token: kept.tokens.access_token });
  }
}
await client.close().catch(() => {});
