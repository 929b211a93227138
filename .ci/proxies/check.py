#!/usr/bin/env python3
"""nginx and Caddy before a tooldex, as docs/operating.md writes them: check.py TOOLDEX. What a client gets through them is what it
would get without: challenges, answers, streams that are not held back, and failures that count by the client's own address."""
import json, os, re, ssl, subprocess, sys, time, urllib.error, urllib.request
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from checks import check, finish, port, run, start, tmp, tooldex, until, write
page = open(os.path.join(here, '../../docs/operating.md')).read()
block = lambda first: next(b for b in re.findall(r'^```\w*\n(.*?)^```$', page, re.S | re.M) if b.startswith(first))
host, cert, key = 'tools.example.com', os.path.join(tmp, 'cert.pem'), os.path.join(tmp, 'key.pem')

def configure(text, pairs):
    for a, b in pairs:
        check(f'{a} stands in the page', a in text)
        text = text.replace(a, b)
    return text

def nginx(inner, outer):
    text = configure(block('server {'), [('443 ssl', f'127.0.0.1:{outer} ssl'), ('/etc/nginx/tools.pem', cert), ('/etc/nginx/tools.key', key), ('127.0.0.1:7420', f'127.0.0.1:{inner}')])
    path = os.path.join(tmp, 'nginx.conf')
    paths = '; '.join(f'{kind}_temp_path {tmp}/{kind}' for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    with open(path, 'w') as f: f.write(f'daemon off; pid {tmp}/nginx.pid; error_log stderr; user root; events {{}}\nhttp {{ access_log off; {paths};\n{text}\n}}\n')
    return start('nginx', '-e', 'stderr', '-c', path)

def caddy(inner, outer):
    text = configure(block('tools.example.com {'), [('tools.example.com {', f'{{\n  admin off\n  auto_https disable_redirects\n}}\nhttps://tools.example.com:{outer} {{\n  tls {cert} {key}'), ('127.0.0.1:7420', f'127.0.0.1:{inner}')])
    path = os.path.join(tmp, 'Caddyfile')
    with open(path, 'w') as f: f.write(text)
    return start('caddy', 'run', '--adapter', 'caddyfile', '--config', path)

def curl(outer, path, *args, popen=False):
    command = ['curl', '-sS', '--max-time', '120', '--cacert', cert, '--connect-to', f'{host}:{outer}:127.0.0.1:{outer}', *args, f'https://{host}:{outer}{path}']
    if popen: return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return subprocess.run(command, capture_output=True, text=True).stdout

def behind(name, proxy):
    inner, outer = port(), port()
    settings = dict(listen=f'127.0.0.1:{inner}', public_url=f'https://{host}:{outer}', behind_proxy=True, embedding={'provider': 'none'}, audit={'enabled': True},
                    mcpServers={'text': {'command': tooldex, 'args': ['sample-server', '--group', 'text']}}, virtual_servers={'plain': {'surface': 'direct'}},
                    auth={'oauth': {'issuer': 'https://id.example.com'}, 'grants': [{'anyone': True, 'endpoints': ['plain'], 'role': 'use'}]})
    config = write(name, **settings)
    check(f'{name}: tools are listed', run(config, 'reindex').returncode == 0)
    token = run(config, 'auth', 'token', 'new', 'bot').stdout.strip()
    serving = start(tooldex, '--config', config, 'serve')
    before = proxy(inner, outer)
    mcp = '/servers/plain/mcp'
    until(name, lambda: '401' in curl(outer, mcp, '-o', '/dev/null', '-w', '%{http_code}'))
    said = curl(outer, mcp, '-i')
    check(f'{name}: who has no token is told where to log in', f'resource_metadata="https://{host}:{outer}/.well-known/oauth-protected-resource{mcp}"' in said, said)
    own = ('-H', 'Authorization: Bearer ' + token, '-H', 'Content-Type: application/json', '-H', 'Accept: application/json, text/event-stream')
    said = curl(outer, mcp, *own, '-D', '-', '-d', json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'c', 'version': '1'}}}))
    session = re.search(r'(?i)mcp-session-id: (\S+)', said)
    check(f'{name}: a session begins', session, said)
    own += ('-H', 'Mcp-Session-Id: ' + session[1], '-H', 'Mcp-Protocol-Version: 2025-06-18')
    curl(outer, mcp, *own, '-d', '{"jsonrpc":"2.0","method":"notifications/initialized"}')
    stream = curl(outer, mcp, '-N', *own, popen=True)
    settings['mcpServers']['numbers'] = {'command': tooldex, 'args': ['sample-server', '--group', 'numbers'], 'start': 'eager'}
    write(name, **settings)
    told = next((line for line in stream.stdout if 'list_changed' in line), '')
    check(f'{name}: what changes comes by the stream while it is open', 'list_changed' in told and stream.poll() is None, told)
    stream.terminate(); stream.wait(20)
    big = os.path.join(tmp, 'big.json')
    with open(big, 'w') as f: json.dump({'jsonrpc': '2.0', 'id': 2, 'method': 'tools/call', 'params': {'name': 'text__count_text', 'arguments': {'text': 'word ' * 1_000_000}}}, f)
    said = curl(outer, mcp, *own, '--data-binary', '@' + big)
    check(f'{name}: 5 MB of arguments arrive', '1000000' in said, said[:500])
    curl(outer, mcp, '-H', 'Authorization: Bearer tooldex_nothing', '-H', 'X-Forwarded-For: 203.0.113.9')
    with open(serving.log) as f: said = f.read()
    check(f'{name}: a failure counts for the address of the client, not for one that it names', 'from=127.0.0.1 reason="no such token"' in said and '203.0.113.9' not in said, said)
    for p in (before, serving): p.terminate(); p.wait(30)

def main():
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=' + host, '-addext', 'subjectAltName=DNS:' + host, '-keyout', key, '-out', cert], check=True, capture_output=True)
    behind('nginx', nginx)
    behind('Caddy', caddy)

finish(main)
