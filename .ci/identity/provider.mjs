// An OpenID provider that forgets when it ends: provider.mjs PORT FOLDER, with
// oidc-provider in FOLDER/node_modules. Its tokens name the resource that they are
// asked for; those for an address with /opaque/ are opaque. ada is in finance,
// everybody else in support. POST /test/sign signs any claims by its own key, POST
// /test/revoke takes all opaque tokens back.
import { createRequire } from 'node:module';
const [port, folder] = process.argv.slice(2);
const require = createRequire(folder + '/');
const { default: Provider } = await import(require.resolve('oidc-provider'));
const jose = await import(require.resolve('jose'));
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = await jose.generateKeyPair('RS256', { extractable: true });
const key = { ...await jose.exportJWK(privateKey), kid: 'first', alg: 'RS256', use: 'sig' };
const opaque = [], ttl = 600;
const teams = id => id === 'ada' ? ['/finance'] : ['/support'];
const provider = new Provider(issuer, {
  jwks: { keys: [key] },
  clients: [{ client_id: 'gateway', client_secret: 'secret-of-the-gateway', redirect_uris: [], response_types: [], grant_types: [] }],
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  extraTokenClaims: (_, token) => ({ groups: teams(token.accountId) }),
  features: {
    registration: { enabled: true }, devInteractions: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true, useGrantedResource: () => true, defaultResource: () => undefined,
      getResourceServerInfo: (_, resource) => ({
        scope: 'tools', audience: resource, accessTokenTTL: ttl,
        ...(resource.includes('/opaque/') ? { accessTokenFormat: 'opaque' } : { accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
      }),
    },
  },
  scopes: ['openid', 'offline_access', 'tools'],
  ttl: { AccessToken: ttl, Grant: 3600, RefreshToken: 3600, Session: 3600, Interaction: 600 },
  pkce: { required: () => true },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
});
provider.on('access_token.saved', token => opaque.push(token));
for (const event of ['grant.error', 'server_error', 'authorization.error', 'registration_create.error', 'introspection.error']) provider.on(event, (_, err) => console.error(event, err.message, err.error_description || ''));
provider.use(async (ctx, next) => {
  if (ctx.path === '/test/revoke') { for (const t of opaque.splice(0)) await t.destroy(); ctx.body = {}; return; }
  if (ctx.path === '/test/sign') {
    const { header, claims } = JSON.parse(ctx.query.what);
    ctx.body = { token: await new jose.SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'first', typ: 'at+jwt', ...header }).sign(privateKey) };
    return;
  }
  await next();
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
