// An OpenID provider that forgets when it ends: provider.mjs PORT FOLDER, with
// oidc-provider in FOLDER/node_modules. GET /test/counts says what it gave,
// POST /test/revoke takes all refresh tokens back.
import { createRequire } from 'node:module';
const [port, folder] = process.argv.slice(2);
const { default: Provider } = await import(createRequire(folder + '/').resolve('oidc-provider'));
const issuer = `http://127.0.0.1:${port}`, seconds = 16; // of which tooldex uses the first half
const counts = {}, refreshTokens = [];
const provider = new Provider(issuer, {
  clients: [{ client_id: 'machine', client_secret: 'secret-of-the-machine', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
  features: {
    registration: { enabled: true }, revocation: { enabled: true }, clientCredentials: { enabled: true }, devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true, useGrantedResource: () => true, defaultResource: () => undefined,
      getResourceServerInfo: (_, resource) => ({ scope: 'tools', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: seconds, jwt: { sign: { alg: 'RS256' } } }),
    },
  },
  scopes: ['openid', 'offline_access', 'tools'],
  ttl: { AccessToken: seconds, ClientCredentials: seconds, Grant: 3600, RefreshToken: 3600, Session: 3600, Interaction: 600 },
  rotateRefreshToken: true, pkce: { required: () => true },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
});
provider.on('grant.success', ctx => { const g = ctx.oidc.params.grant_type; counts[g] = (counts[g] || 0) + 1; });
provider.on('registration_create.success', () => { counts.registration = (counts.registration || 0) + 1; });
provider.on('refresh_token.saved', token => refreshTokens.push(token));
for (const event of ['grant.error', 'server_error', 'authorization.error', 'registration_create.error']) provider.on(event, (ctx, err) => console.error(event, err.message, err.error_description || ''));
provider.use(async (ctx, next) => {
  if (ctx.path === '/test/counts') { ctx.body = counts; return; }
  if (ctx.path === '/test/revoke') { for (const t of refreshTokens.splice(0)) await t.destroy(); ctx.body = {}; return; }
  await next();
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
