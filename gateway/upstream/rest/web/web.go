// Package web makes the HTTP clients of REST upstreams: they stay on the host
// that they were sent to, and reach no private address unless they may.
//
// Addresses are looked at when a connection is made, after names are resolved:
// a name that leads to another address by then than it did before is no way
// around.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// ErrPrivate reports an address that is not public and may not be reached.
var ErrPrivate = errors.New("a private address, which is refused: set allow_private: true, or base_url to the address itself")

// A Client follows redirects on one host only: the reply that leads elsewhere
// is handed on as it is. Private allows addresses that are not public.
func Client(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, MaxResponseHeaderBytes: 1 << 20, ExpectContinueTimeout: time.Second,
	}
	if private {
		t.Proxy = http.ProxyFromEnvironment // it resolves names where we cannot look
	} else {
		dialer.Control = refusePrivate
	}
	return &http.Client{Transport: t, CheckRedirect: sameHost}
}

// sameHost follows a redirect that stays, and hands others on.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	upgrade := first.Scheme == "http" && req.URL.Scheme == "https" && first.Port() == "" && req.URL.Port() == "" && strings.EqualFold(first.Hostname(), req.URL.Hostname())
	if len(via) >= 10 || !upgrade && (req.URL.Scheme != first.Scheme || !strings.EqualFold(req.URL.Host, first.Host)) {
		return http.ErrUseLastResponse
	}
	return nil
}

// refusePrivate is the Control of a dialer.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	if !Public(at.Addr()) {
		return fmt.Errorf("%s is %w", at.Addr(), ErrPrivate)
	}
	return nil
}

// reserved are ranges that are neither public nor known to netip as private.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("fec0::/10"),
}

// embedding are ranges of IPv6 addresses that lead to an IPv4 address, with
// where in the 16 bytes it stands.
var embedding = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2, netip.MustParsePrefix("::/96"): 12,
}

// Public reports an address of the internet.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	for p, at := range embedding {
		if p.Contains(a) {
			b := a.As16()
			return Public(netip.AddrFrom4([4]byte(b[at : at+4])))
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}

// NamesPrivate reports a host that says itself that it is not public: an
// address, or a name of this machine.
func NamesPrivate(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && !Public(a)
}

// Fetch reads what stands at an address, at most limit bytes.
func Fetch(ctx context.Context, address string, limit int64, private bool) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is no address")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is no http or https address", u.Redacted())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/yaml, text/yaml, */*;q=0.5")
	req.Header.Set("User-Agent", "tooldex")
	client := Client(private)
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return nil, Cause(err)
	}
	defer res.Body.Close()
	if to := res.Header.Get("Location"); res.StatusCode/100 == 3 && to != "" {
		return nil, fmt.Errorf("it answers %s and leads to another host, %s: give that address", res.Status, to)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", res.Status)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, Cause(err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	return data, nil
}

// Cause is an error without the address, which may hold a key.
func Cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
