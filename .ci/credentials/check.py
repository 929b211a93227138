#!/usr/bin/env python3
"""Logins of tooldex at a real OpenID provider: check.py TOOLDEX NODE FOLDER, with oidc-provider below FOLDER.
One tooldex is the server that takes the provider's tokens, another one logs in there: without a browser, as one process and as two,
until the provider takes the tokens back."""
import html, http.cookiejar, json, os, re, socket, subprocess, sys, tempfile, time, urllib.error, urllib.parse, urllib.request
tooldex, node, folder = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
tmp = tempfile.mkdtemp(prefix='credentials-')
os.environ.update(XDG_CONFIG_HOME=tmp, XDG_STATE_HOME=tmp, XDG_DATA_HOME=tmp, XDG_CACHE_HOME=tmp, XDG_RUNTIME_DIR=tmp)
os.environ.pop('DBUS_SESSION_BUS_ADDRESS', None)  # there is no keyring
running = []

def port():
    s = socket.socket(); s.bind(('127.0.0.1', 0)); return s.getsockname()[1]

def start(*args):
    log = open(os.path.join(tmp, f'{len(running)}.log'), 'w+')
    running.append((subprocess.Popen(args, stdout=log, stderr=log), log))

def get(address, data=None):
    return json.load(urllib.request.urlopen(urllib.request.Request(address, data=data), timeout=20))

def until(what, ok, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        try:
            if ok() not in (None, False): return
        except (urllib.error.URLError, ConnectionError): pass
        time.sleep(.1)
    raise SystemExit(f'{what}: not within {seconds} s')

def check(what, ok, told=''):
    print('ok  ' if ok else 'FAIL', what, told if not ok else '')
    if not ok: raise SystemExit(1)

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

def write(name, **settings):
    path = os.path.join(tmp, name + '.json')
    with open(path, 'w') as f: json.dump(dict(state=os.path.join(tmp, name), **settings), f)
    return path

def run(config, *args, **more):
    return subprocess.run([tooldex, '--config', config, *args], capture_output=True, text=True, timeout=120, **more)

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
    time.sleep(8)  # of the token's 36 seconds tooldex uses six
    both = [subprocess.Popen([tooldex, '--config', outer, *call], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    said = [p.communicate(timeout=120)[0] for p in both]
    check('two processes call with a token that runs out', all(p.returncode == 0 for p in both), said)
    check('one refresh between them', given('refresh_token') == before + 1, get(issuer + '/test/counts'))

    start(tooldex, '--config', outer, 'serve', '--listen', f'127.0.0.1:{port()}')
    state = lambda: next(iter(s['state'] for s in json.loads(run(outer, 'status', '--json').stdout).get('servers') or []), '')
    get(issuer + '/test/revoke', b'')
    time.sleep(8)
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
    for _, log in running:
        log.seek(0)
        check('no token is logged', not re.search(r'eyJ[A-Za-z0-9_-]{20,}|secret-of', log.read()), log.name)

try: main()
except BaseException:
    for _, log in running: log.seek(0); sys.stderr.write(log.read()[-3000:])
    raise
finally:
    for p, _ in running: p.terminate()
    for p, _ in running: p.wait(20)
