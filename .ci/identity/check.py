#!/usr/bin/env python3
"""A team behind real identity providers: check.py TOOLDEX NODE FOLDER KEYCLOAK, with oidc-provider and the TypeScript SDK below
FOLDER and a Keycloak in KEYCLOAK. The SDK's own client finds out where to log in, does, and calls tools; tokens are forged, keys
rotated, providers ended."""
import base64, hashlib, hmac, json, os, subprocess, sys, time, urllib.error, urllib.parse, urllib.request
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from checks import check, finish, get, no_secret_logged, port, run, start, tmp, tooldex, until, write
node, folder, keycloak = sys.argv[2:]
tool, arguments = 'ledger/convert_units', {'value': 1, 'from': 'km', 'to': 'm'}
servers = {'ledger': {'command': tooldex, 'args': ['sample-server', '--group', 'numbers'], 'tags': ['finance']},
           'wiki': {'command': tooldex, 'args': ['sample-server', '--group', 'text'], 'tags': ['support']}}
grants = [{'teams': ['finance'], 'endpoints': ['finance'], 'role': 'use'}, {'teams': ['finance'], 'endpoints': ['opaque'], 'role': 'use'},
          {'teams': ['support'], 'endpoints': ['default'], 'scope': {'include_tags': ['support']}, 'role': 'discover'},
          {'teams': ['platform'], 'role': 'admin'}, {'principals': ['token:nightly'], 'endpoints': ['finance'], 'role': 'use'}]
endpoints = {'finance': {'scope': {'include_tags': ['finance']}}, 'opaque': {'scope': {'include_tags': ['finance']}}}

class Client:
    """The TypeScript SDK's client, logged in as a user."""
    def __init__(self, endpoint, user):
        self.errors = open(os.path.join(tmp, f'client-{user}-{port()}.log'), 'w+')
        self.p = subprocess.Popen([node, os.path.join(here, 'client.mjs'), folder, endpoint, user], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        said = self.said()
        self.tools, self.token, self.registered = said['tools'], said['token'], said['registered']
    def said(self):
        line = self.p.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise SystemExit('the client ended: ' + self.errors.read()[-2000:])
        return json.loads(line)
    def ask(self, line):
        self.p.stdin.write(line + '\n'); self.p.stdin.flush()
        return self.said()
    def run(self, name=tool, **args):
        return json.dumps(self.ask('call execute_tool ' + json.dumps({'tool_name': name, 'arguments': args or arguments})))

def rpc(endpoint, token):
    """The status that tools/list is answered with, and the challenge."""
    body = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list', 'params': {'_meta': {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}}}
    headers = {**({'Authorization': 'Bearer ' + token} if token else {}), 'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream',
               'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list'}
    try:
        with urllib.request.urlopen(urllib.request.Request(endpoint, json.dumps(body).encode(), headers), timeout=60) as r: return r.status, ''
    except urllib.error.HTTPError as e: return e.code, e.headers.get('WWW-Authenticate', '')

b64 = lambda data: base64.urlsafe_b64encode(data).rstrip(b'=').decode()
unb64 = lambda text: base64.urlsafe_b64decode(text + '=' * (-len(text) % 4))
def parts(token): return [json.loads(unb64(p)) for p in token.split('.')[:2]]
def refused(what, endpoint, token):
    status, challenge = rpc(endpoint, token)
    check(f'refused: {what}', status == 401 and 'resource_metadata=' in challenge, (status, challenge))
def taken(what, endpoint, token): check(what, rpc(endpoint, token)[0] == 200, rpc(endpoint, token))

def forge(endpoint, token, jwks):
    """Tokens that nobody but us has made, of one that the issuer has."""
    header, claims = parts(token)
    body = b64(json.dumps(claims).encode())
    def signed(head, key):
        text = b64(json.dumps(head).encode()) + '.' + body
        return text + '.' + (b64(hmac.new(key, text.encode(), hashlib.sha256).digest()) if key is not None else '')
    refused('alg none', endpoint, signed({**header, 'alg': 'none'}, None))
    for key in get(jwks)['keys']:
        for secret in (unb64(key['n']), key['n'].encode(), json.dumps(key).encode()):
            refused('HS256 with the public key', endpoint, signed({**header, 'alg': 'HS256'}, secret))
    head, _, signature = token.split('.')
    more = b64(json.dumps({**claims, 'groups': ['/platform']}).encode())
    refused('changed claims', endpoint, f'{head}.{more}.{signature}')
    refused('another signature', endpoint, f'{head}.{body}.{b64(os.urandom(256))}')
    refused('no signature', endpoint, f'{head}.{body}.')
    refused('a kid that there is not', endpoint, b64(json.dumps({**header, 'kid': 'no-such-key'}).encode()) + '.' + body + '.' + signature)

def serve(name, issuer, behind=servers, **more):
    listen = f'127.0.0.1:{port()}'
    def settings(**changed):
        return dict(dict(listen=listen, embedding={'provider': 'none'}, mcpServers=behind, virtual_servers=endpoints, audit={'enabled': True},
                         auth={'oauth': dict(issuer=issuer, teams_claim='groups', **more), 'grants': grants}), **changed)
    config = write(name, **settings())
    r = run(config, 'reindex')
    check(f'{name}: tools are listed', r.returncode == 0, r.stdout + r.stderr)
    start(tooldex, '--config', config, 'serve')
    until('the gateway', lambda: urllib.request.urlopen(f'http://{listen}/healthz', timeout=5))
    return config, f'http://{listen}', settings

def exchanged(issuer, admin):
    """One tooldex before another, which knows by a token of its own for whom it is called."""
    def made(path, **what):
        admin('POST', '/tools' + path, what)
        return next(x['id'] for x in admin('GET', '/tools' + path) if all(x.get(k) == what[k] for k in ('name', 'clientId') if k in what))
    def audience(client): return {'name': 'for ' + client, 'protocol': 'openid-connect', 'protocolMapper': 'oidc-audience-mapper', 'config': {'included.client.audience': client, 'access.token.claim': 'true'}}
    made('/clients', clientId='books', standardFlowEnabled=False)
    front = made('/clients', clientId='front', secret='secret-of-the-front', serviceAccountsEnabled=True, standardFlowEnabled=False, attributes={'standard.token.exchange.enabled': 'true'})
    books = made('/client-scopes', name='books', protocol='openid-connect', protocolMappers=[audience('books')])
    admin('PUT', f'/tools/clients/{front}/default-client-scopes/{books}', {})
    scopes = {s['name']: s['id'] for s in admin('GET', '/tools/client-scopes')}
    admin('POST', f"/tools/client-scopes/{scopes['tooldex']}/protocol-mappers/models", audience('front'))  # who exchanges a token is in its audience
    account = admin('GET', f'/tools/clients/{front}/service-account-user')['id']
    group = next(g['id'] for g in admin('GET', '/tools/groups') if g['name'] == 'finance')
    admin('PUT', f'/tools/users/{account}/groups/{group}', {})

    behind, at, _ = serve('books', issuer, audiences=['books'])
    config, gateway, _ = serve('front', issuer, {'books': {'url': at + '/servers/finance/mcp', 'tags': ['finance'], 'auth': {
        'type': 'token_exchange', 'issuer': issuer, 'client_id': 'front', 'client_secret': 'secret-of-the-front', 'audience': 'books'}}}, audiences=['https://tools.example.com'])
    finance = gateway + '/servers/finance/mcp'
    ada, asked = Client(finance, 'ada'), {'tool_name': tool, 'arguments': arguments}
    check("ada's call goes through two gateways", '1000' in ada.run('books/execute_tool', **asked), ada.run('books/execute_tool', **asked))
    refused("the second one takes no token of the first", at + '/servers/finance/mcp', ada.token)
    ran = [json.loads(line) for line in run(behind, 'audit', '--json').stdout.splitlines()]
    who = {e['principal'] for e in ran if e['event'] == 'execute'}
    check('and the second one knows that it was ada', who == {f"oidc:{issuer}#{parts(ada.token)[1]['sub']}"}, ran)
    said = run(config, 'status').stdout
    check('status counts sessions', 'sessions of 1 caller' in said, said)
    r = run(config, 'auth', 'token', 'new', 'nightly')
    body = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'execute_tool', 'arguments': {'tool_name': 'books/execute_tool', 'arguments': asked}, '_meta': {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}}}
    until('a static token', lambda: rpc(finance, r.stdout.strip())[0] == 200)
    said = urllib.request.urlopen(urllib.request.Request(finance, json.dumps(body).encode(), {'Authorization': 'Bearer ' + r.stdout.strip(), 'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream',
                                  'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'execute_tool'}), timeout=60).read().decode()
    check('who came by a static token has none to exchange', 'this caller came without one' in said, said)
    admin('PUT', f'/tools/clients/{front}', {**admin('GET', f'/tools/clients/{front}'), 'attributes': {'standard.token.exchange.enabled': 'false'}})
    bare = Client(finance, 'ada')
    said = bare.run('books/execute_tool', **asked)
    check('where Keycloak exchanges nothing it says so', '1000' not in said and issuer in said and bare.token not in said, said)

def behind_keycloak():
    at, manage = port(), port()
    base = f'http://127.0.0.1:{at}'
    server = start(os.path.join(keycloak, 'bin', 'kc.sh'), 'start', '--optimized', '--http-enabled=true', '--http-host=127.0.0.1', f'--http-port={at}',
                   f'--http-management-port={manage}', f'--hostname={base}', '--cache=local',
                   env=os.environ | {'KC_BOOTSTRAP_ADMIN_USERNAME': 'admin', 'KC_BOOTSTRAP_ADMIN_PASSWORD': 'admin'})
    until('Keycloak', lambda: get(base + '/realms/master'), 600)
    def admin(method, path, data=None):
        token = get(base + '/realms/master/protocol/openid-connect/token', b'grant_type=password&client_id=admin-cli&username=admin&password=admin')['access_token']
        r = urllib.request.Request(base + '/admin/realms' + path, json.dumps(data).encode() if data is not None else None,
                                   {'Authorization': 'Bearer ' + token, 'Content-Type': 'application/json'}, method=method)
        text = urllib.request.urlopen(r, timeout=60).read()
        return json.loads(text) if text else None
    with open(os.path.join(here, '../../deploy/keycloak/tools-realm.json')) as f: realm = json.load(f)
    realm['users'] = [{'username': u, 'enabled': True, 'email': u + '@example.com', 'emailVerified': True, 'firstName': u, 'lastName': u, 'groups': ['/' + g],
                       'credentials': [{'type': 'password', 'value': 'password of ' + u}]} for u, g in (('ada', 'finance'), ('bob', 'support'), ('pat', 'platform'))]
    admin('POST', '', realm)
    issuer = base + '/realms/tools'
    jwks = issuer + '/protocol/openid-connect/certs'
    config, gateway, _ = serve('keycloak', issuer, audiences=['https://tools.example.com'])
    finance, default = gateway + '/servers/finance/mcp', gateway + '/mcp'

    ada = Client(finance, 'ada')
    check("Keycloak: the TypeScript SDK's client registers, logs in and lists tools", ada.registered and 'execute_tool' in ada.tools, ada.tools)
    check('ada, of group /finance, runs a tool', '1000' in ada.run(), ada.run())
    check('the groups are in the token with a slash', parts(ada.token)[1]['groups'] == ['/finance'], parts(ada.token))
    bob = Client(default, 'bob')
    said = json.dumps(bob.ask('call search_tools {"query": "sort lines of text"}'))
    check('bob, of group /support, finds the tools of the wiki', 'wiki' in said and 'ledger' not in said, said)
    check('bob may not run them', 'you may see this tool but not run it' in bob.run('wiki/sort_lines', text='b'), bob.run('wiki/sort_lines', text='b'))
    check('to bob the ledger does not exist', 'there is no tool' in bob.run(), bob.run())
    refused_ = rpc(finance, '')
    check('nobody is told where to log in', refused_[0] == 401 and refused_[1] == f'Bearer resource_metadata="{gateway}/.well-known/oauth-protected-resource/servers/finance/mcp"', refused_)
    about = get(f'{gateway}/.well-known/oauth-protected-resource/servers/finance/mcp')
    check('the metadata name the issuer and the resource', about['authorization_servers'] == [issuer] and about['resource'] == finance, about)

    pat = Client(default, 'pat')
    with urllib.request.urlopen(urllib.request.Request(gateway + '/metrics', headers={'Authorization': 'Bearer ' + pat.token}), timeout=60) as r:
        check('pat, of group /platform, sees /metrics', b'tooldex_tools' in r.read())
    made = subprocess.run(['curl', '-sS', '-w', '%{http_code}', '-H', 'Authorization: Bearer ' + pat.token, '-H', 'Content-Type: application/json', '-d', '{"name":"wiki","scope":{"include_tags":["support"]}}',
                           gateway + '/servers'], capture_output=True, text=True).stdout
    check('pat makes a virtual server', made.endswith('201') or made.endswith('200'), made)
    for who, token in (('ada', ada.token), ('bob', bob.token)):
        try: urllib.request.urlopen(urllib.request.Request(gateway + '/metrics', headers={'Authorization': 'Bearer ' + token}), timeout=60); ok = False
        except urllib.error.HTTPError as e: ok = e.code == 403
        check(f'{who} does not', ok)

    exchanged(issuer, admin)
    forge(finance, ada.token, jwks)
    other = get(base + '/realms/master/protocol/openid-connect/token', b'grant_type=password&client_id=admin-cli&username=admin&password=admin')['access_token']
    refused('a token of another realm', finance, other)
    plain = admin('GET', '/tools/client-scopes')
    mapper = next(s for s in plain if s['name'] == 'tooldex')
    audience = next(m for m in mapper['protocolMappers'] if m['name'] == 'the gateway as audience')
    admin('PUT', f"/tools/client-scopes/{mapper['id']}/protocol-mappers/models/{audience['id']}", {**audience, 'config': {**audience['config'], 'included.custom.audience': 'https://other.example.com'}})
    refused('a token for another audience', finance, ada.ask('refresh')['token'])
    admin('PUT', f"/tools/client-scopes/{mapper['id']}/protocol-mappers/models/{audience['id']}", audience)
    taken('one for this gateway again', finance, ada.ask('refresh')['token'])

    admin('PUT', '/tools', {'accessTokenLifespan': 1})
    short = ada.ask('refresh')['token']
    until('refused: an expired token', lambda: rpc(finance, short)[0] == 401)
    print('ok   refused: an expired token')
    admin('PUT', '/tools', {'accessTokenLifespan': 300})

    old = ada.ask('refresh')['token']
    realm_id = admin('GET', '/tools')['id']
    key = {'name': 'second', 'providerId': 'rsa-generated', 'providerType': 'org.keycloak.keys.KeyProvider', 'parentId': realm_id, 'config': {'priority': ['500'], 'enabled': ['true'], 'active': ['true'], 'algorithm': ['RS256'], 'keySize': ['2048']}}
    admin('POST', '/tools/components', key)
    new = ada.ask('refresh')['token']
    check('the key is another', parts(new)[0]['kid'] != parts(old)[0]['kid'], parts(new))
    until('taken: a token of the new key', lambda: rpc(finance, new)[0] == 200)
    print('ok   taken: a token of the new key')
    taken('taken: a token of the old key', finance, old)
    check('ada goes on in the same session', '1000' in ada.run(), ada.run())

    user, group = admin('GET', '/tools/users?username=ada')[0]['id'], admin('GET', '/tools/groups?search=finance')[0]['id']
    admin('DELETE', f'/tools/users/{user}/groups/{group}')
    without = ada.ask('refresh')['token']
    check('the team is gone from the token', parts(without)[1].get('groups', []) == [], parts(without))
    said = ada.run()
    check('between two calls of a session ada has left the team: the tool is gone', 'there is no tool' in said or '404' in said or '403' in said, said)

    server.terminate(); server.wait(60)
    until('Keycloak has ended', lambda: not listening(at))
    taken('Keycloak is away: its last keys hold', finance, new)
    refused('Keycloak is away: a key that nobody knows', finance, b64(json.dumps({**parts(new)[0], 'kid': 'third'}).encode()) + new[new.index('.'):])
    r = run(config, 'audit', '--json')
    kinds = {json.loads(line)['event'] for line in r.stdout.splitlines()}
    check('the audit tells of runs, refusals, failures and the administrator', {'execute', 'denied', 'auth_failed', 'admin'} <= kinds, kinds)
    check('the audit is whole', run(config, 'audit', 'verify').returncode == 0)

def listening(at):
    import socket
    with socket.socket() as s: return s.connect_ex(('127.0.0.1', at)) == 0

def behind_oidc_provider():
    at = port()
    issuer = f'http://127.0.0.1:{at}'
    server = start(node, os.path.join(here, 'provider.mjs'), str(at), folder)
    until('oidc-provider', lambda: get(issuer + '/.well-known/openid-configuration'))
    os.environ['GATEWAY_SECRET'] = 'secret-of-the-gateway'
    config, gateway, _ = serve('oidc', issuer, scopes_supported=['tools'], introspection={'url': issuer + '/token/introspection', 'client_id': 'gateway', 'client_secret_env': 'GATEWAY_SECRET'})
    finance, opaque = gateway + '/servers/finance/mcp', gateway + '/servers/opaque/mcp'

    ada = Client(finance, 'ada')
    check("oidc-provider: the TypeScript SDK's client logs in and runs a tool", '1000' in ada.run(), ada.run())
    check('its token names the endpoint alone', parts(ada.token)[1]['aud'] == finance, parts(ada.token))
    refused("the token of another endpoint", opaque, ada.token)
    forge(finance, ada.token, issuer + '/jwks')
    header, claims = parts(ada.token)
    sign = lambda head={}, **changed: get(issuer + '/test/sign?what=' + urllib.parse.quote(json.dumps({'header': head, 'claims': {k: v for k, v in {**claims, **changed}.items() if v is not None}})))['token']
    taken('a token that we had signed', finance, sign())
    now = int(time.time())
    for what, changed in {'expired': {'exp': now - 3600}, 'not valid yet': {'nbf': now + 3600}, 'without an end': {'exp': None}, 'of another issuer': {'iss': 'https://id.example.com'},
                          'without an issuer': {'iss': None}, 'for another audience': {'aud': 'https://other.example.com/mcp'}, 'without an audience': {'aud': None},
                          'for the origin alone': {'aud': gateway}, 'without a subject': {'sub': None}}.items():
        refused(what, finance, sign(**changed))
    taken('one of several audiences', finance, sign(aud=['https://other.example.com', finance]))
    refused('a key in the header', finance, sign({'jwk': {'kty': 'RSA', 'n': 'AQAB', 'e': 'AQAB'}, 'kid': 'mine'}))

    eve = Client(opaque, 'ada')
    check('an opaque token is asked about', '.' not in eve.token and '1000' in eve.run(), eve.run())
    refused('an opaque token at another endpoint', finance, eve.token)
    get(issuer + '/test/revoke', b'')
    until('refused: an opaque token that was taken back', lambda: rpc(opaque, eve.token)[0] == 401)
    print('ok   refused: an opaque token that was taken back')
    again = Client(opaque, 'ada').token
    taken('another opaque token', opaque, again)
    server.terminate(); server.wait(20)
    until('refused: an opaque token, with introspection down', lambda: rpc(opaque, again)[0] in (401, 503))
    print('ok   refused: an opaque token, with introspection down')
    taken('while the last keys hold for others', finance, ada.token)

    r = run(config, 'auth', 'token', 'new', 'nightly')
    token = r.stdout.strip()
    until('taken: a static token', lambda: rpc(finance, token)[0] == 200)
    session = subprocess.Popen(['curl', '-sSN', '-D', '-', '-o', '/dev/null', '-H', 'Authorization: Bearer ' + token, '-H', 'Content-Type: application/json', '-H', 'Accept: application/json, text/event-stream',
                                '-d', '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}', finance], stdout=subprocess.PIPE, text=True).communicate(timeout=60)[0]
    sid = next(l.split(': ')[1].strip() for l in session.splitlines() if l.lower().startswith('mcp-session-id'))
    stream = subprocess.Popen(['curl', '-sSN', '-H', 'Authorization: Bearer ' + token, '-H', 'Accept: text/event-stream', '-H', 'Mcp-Session-Id: ' + sid, '-H', 'Mcp-Protocol-Version: 2025-06-18', finance])
    r = run(config, 'auth', 'token', 'revoke', 'nightly')
    check('a static token is revoked', r.returncode == 0, r.stderr)
    refused('a token that was revoked in the middle of a session', finance, token)
    stream.wait(60)
    check('and the stream of the session has ended', True)

def main():
    behind_oidc_provider()
    behind_keycloak()
    no_secret_logged()

finish(main)
