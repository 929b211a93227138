"""What checks of a running tooldex share: processes with logs, waiting, and results said one by one."""
import json, os, re, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request
tmp = tempfile.mkdtemp(prefix='tooldex-check-')
os.environ.update(XDG_CONFIG_HOME=tmp, XDG_STATE_HOME=tmp, XDG_DATA_HOME=tmp, XDG_CACHE_HOME=tmp, XDG_RUNTIME_DIR=tmp)
bus = os.environ.pop('DBUS_SESSION_BUS_ADDRESS', None)  # without it there is no keyring
running = []
tooldex = sys.argv[1]

def port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]

def start(*args, **more):
    log = open(os.path.join(tmp, f'{len(running)}.log'), 'w+')
    p = subprocess.Popen(args, stdout=log, stderr=log, **more)
    p.log = log.name
    running.append((p, log))
    return p

def get(address, data=None, **headers):
    return json.load(urllib.request.urlopen(urllib.request.Request(address, data=data, headers=headers), timeout=30))

def until(what, ok, seconds=180):
    """Waits for a condition, however slow the machine is."""
    end = time.time() + seconds
    while time.time() < end:
        try:
            if ok() not in (None, False): return
        except (urllib.error.URLError, ConnectionError): pass
        time.sleep(.1)
    raise SystemExit(f'{what}: not within {seconds} s')

def check(what, ok, told=''):
    print('ok  ' if ok else 'FAIL', what, told if not ok else '', flush=True)
    if not ok: raise SystemExit(1)

def write(name, **settings):
    path = os.path.join(tmp, name + '.json')
    with open(path + '.next', 'w') as f: json.dump(dict(state=os.path.join(tmp, name), **settings), f)
    os.replace(path + '.next', path)
    return path

def run(config, *args, **more):
    return subprocess.run([tooldex, '--config', config, *args], capture_output=True, text=True, timeout=180, **more)

def no_secret_logged():
    for _, log in running:
        log.seek(0)
        check('no token is logged', not re.search(r'eyJ[A-Za-z0-9_-]{20,}|tooldex_[A-Za-z0-9_-]{20,}|secret-of', log.read()), log.name)

def finish(main):
    try: main()
    except BaseException:
        for _, log in running: log.seek(0); sys.stderr.write(log.read()[-3000:])
        raise
    finally:
        for p, _ in running: p.terminate()
        for p, _ in running:
            try: p.wait(20)
            except subprocess.TimeoutExpired: p.kill()
