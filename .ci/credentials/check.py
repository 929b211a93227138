#!/usr/bin/env python3
"""Logins of tooldex at a real OpenID provider: check.py TOOLDEX NODE FOLDER, with oidc-provider below FOLDER.
One tooldex is the server that takes the provider's tokens, another one logs in there: without a browser, as one process and as two,
until the provider takes the tokens back."""
import html, http.cookiejar, json, os, re, subprocess, sys, time, urllib.parse, urllib.request
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from checks import bus, check, finish, get, no_secret_logged, port, run, start, tmp, tooldex, until, write
node, folder = sys.argv[2:]

def browser(address):
    """Opens an address, and sends each form of the provider that it meets: one to log in, one to consent."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    page = opener.open(address, timeout=30)
    for _ in range(4):
        text = page.read().decode()
        action = re.search(r'<form[^>]*action="([^"]+)"', text)
        if not action: return text
        fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', text)) | {'login': 'ada', 'password': 'x'}
        page = opener.open(urllib.parse.urljoin(page.url, html.unescape(action[1])), data=urllib.parse.urlencode(fields).encode(), timeout=30)
    return page.read().decode()

def login(config, server='tools'):
    p = subprocess.Popen([tooldex, '--config', config, 'auth', 'login', server, '--no-browser', '--timeout', '60s'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = ''
    for line in p.stderr:
        said += line
        if line.startswith('http'): browser(line.strip())
    return p.wait(), p.stdout.read() + said

def main():
    issuer, tools = f'http://127.0.0.1:{port()}', f'127.0.0.1:{port()}'
    start(node, os.path.join(here, 'provider.mjs'), issuer.rsplit(':', 1)[1], folder)
    until('the provider', lambda: get(issuer + '/test/counts') is not None)
    given = lambda kind: get(issuer + '/test/counts').get(kind, 0)
    inner = write('inner', listen=tools, embedding={'provider': 'none'}, mcpServers={'calc': {'command': tooldex, 'args': ['sample-server']}},
                  auth={'oauth': {'issuer': issuer, 'scopes_supported': ['tools']}, 'grants': [{'anyone': True, 'endpoints': ['*'], 'role': 'use'}]})
    start(tooldex, '--config', inner, 'serve')
    until('the server', lambda: urllib.request.urlopen(f'http://{tools}/healthz', timeout=5))
    outer = write('outer', embedding={'provider': 'none'}, mcpServers={'tools': {'url': f'http://{tools}/mcp'}})
    call = ('call', 'tools/list_tools')

    r = run(outer, 'doctor')
    check('doctor names the command', r.returncode == 1 and 'tooldex auth login tools' in r.stdout, r.stdout + r.stderr)
    code, said = login(outer)
    check('log in', code == 0 and 'logged in at server tools' in said, said)
    st = json.loads(run(outer, 'auth', 'status', '--json').stdout)
    check('status says so, and where the key is without a keyring', st['servers'][0]['state'] == 'logged in' and st['key'].endswith('/logins/key'), st)
    r = run(outer, 'reindex')
    check('list', r.returncode == 0, r.stdout + r.stderr)
    r = run(outer, *call)
    check('call', r.returncode == 0, r.stdout + r.stderr)
    code, said = login(outer)
    check('log in again, registered once', code == 0 and given('registration') == 1, said)
    for root, _, files in os.walk(os.path.join(tmp, 'outer', 'logins')):
        for f in files: check(f'{f} is its owner\'s alone', os.stat(os.path.join(root, f)).st_mode & 0o077 == 0)

    before = given('refresh_token')
    time.sleep(9)  # of the token's 16 seconds tooldex uses eight
    both = [subprocess.Popen([tooldex, '--config', outer, *call], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    said = [p.communicate(timeout=120)[0] for p in both]
    check('two processes call with a token that runs out', all(p.returncode == 0 for p in both), said)
    check('one refresh between them', given('refresh_token') == before + 1, get(issuer + '/test/counts'))

    start(tooldex, '--config', outer, 'serve', '--listen', f'127.0.0.1:{port()}')
    state = lambda: next(iter(s['state'] for s in json.loads(run(outer, 'status', '--json').stdout).get('servers') or []), '')
    get(issuer + '/test/revoke', b'')
    time.sleep(17)
    r = run(outer, *call)
    check('taken back: the reply names the command', r.returncode != 0 and 'server tools needs a login again: tooldex auth login tools' in r.stdout + r.stderr, r.stdout + r.stderr)
    until('needs login in status', lambda: state() == 'needs login')
    code, said = login(outer)
    check('log in while it serves', code == 0, said)
    until('ready again without a restart', lambda: state() == 'ready')
    r = run(outer, *call)
    check('call', r.returncode == 0, r.stdout + r.stderr)
    r = run(outer, 'auth', 'logout', 'tools')
    check('log out', r.returncode == 0 and 'taken back' in r.stdout, r.stdout + r.stderr)
    r = run(outer, *call)
    check('needs a login', r.returncode != 0 and 'tooldex auth login tools' in r.stdout + r.stderr, r.stdout + r.stderr)

    machine = write('machine', embedding={'provider': 'none'}, mcpServers={'tools': {'url': f'http://{tools}/mcp', 'auth': {
        'type': 'client_credentials', 'client_id': 'machine', 'client_secret': '${env:MACHINE_SECRET}'}}})
    r = run(machine, 'reindex', env=os.environ | {'MACHINE_SECRET': 'secret-of-the-machine'})
    check('list by client credentials', r.returncode == 0, r.stdout + r.stderr)
    r = run(machine, *call, env=os.environ | {'MACHINE_SECRET': 'secret-of-the-machine'})
    check('call by client credentials', r.returncode == 0 and given('client_credentials') > 0, r.stdout + r.stderr)
    r = run(machine, 'reindex', env=os.environ | {'MACHINE_SECRET': 'wrong-secret-of-it'})
    check('a wrong secret is refused, and not shown', r.returncode != 0 and 'invalid_client' in r.stdout + r.stderr and 'wrong-secret' not in r.stdout + r.stderr, r.stdout + r.stderr)
    with_keyring(tools)
    no_secret_logged()

def with_keyring(tools):
    """The same with a real keyring, which the system's bus leads to."""
    os.environ['DBUS_SESSION_BUS_ADDRESS'] = bus
    ring = write('ring', embedding={'provider': 'none'}, mcpServers={'tools': {'url': f'http://{tools}/mcp'}})
    code, said = login(ring)
    check('log in with a keyring', code == 0, said)
    st = json.loads(run(ring, 'auth', 'status', '--json').stdout)
    check('the key is in the keyring and nowhere else', st['key'] == "the system's keyring" and not os.path.exists(os.path.join(tmp, 'ring', 'logins', 'key')), st)
    call = ('call', 'tools/list_tools')
    r = run(ring, 'reindex')
    check('list with the key of the keyring', r.returncode == 0, r.stdout + r.stderr)
    r = run(ring, *call)
    check('call with it', r.returncode == 0, r.stdout + r.stderr)
    subprocess.run(['secret-tool', 'store', '--label=check', 'service', 'tooldex-check', 'username', 'machine'], input=b'secret-of-the-machine', check=True)
    machine = write('ringed', embedding={'provider': 'none'}, mcpServers={'tools': {'url': f'http://{tools}/mcp', 'auth': {
        'type': 'client_credentials', 'client_id': 'machine', 'client_secret': '${keyring:tooldex-check/machine}'}}})
    r = run(machine, 'reindex')
    check('a secret of the keyring', r.returncode == 0, r.stdout + r.stderr)
    subprocess.run(['secret-tool', 'clear', 'service', 'tooldex-check', 'username', 'machine'], check=True)
    r = run(machine, 'reindex')
    check('one that is gone is named', r.returncode != 0 and '${keyring:tooldex-check/machine}: the keyring has no such item' in r.stdout + r.stderr, r.stdout + r.stderr)
    del os.environ['DBUS_SESSION_BUS_ADDRESS']
    r = run(ring, *call)
    check('without the keyring its logins are closed, and it says why', r.returncode != 0 and 'the key of the logins is neither beside them nor in the keyring' in r.stdout + r.stderr, r.stdout + r.stderr)

finish(main)
