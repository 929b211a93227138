package httpauth

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Failed authentications that an address, and those that one beginning of a
// token, may cause: some at once, then one each period.
const (
	addressBurst, addressEvery = 30, 2 * time.Second
	prefixBurst, prefixEvery   = 10, 6 * time.Second
	// keptBuckets bounds each table; who has not failed for the longest is
	// forgotten first.
	keptBuckets = 8192
)

// failures count failed authentications.
type failures struct {
	mu                  sync.Mutex // guards the check and its consequence
	addresses, prefixes *lru.Cache[string, *rate.Limiter]
}

func newFailures() *failures {
	table := func() *lru.Cache[string, *rate.Limiter] {
		c, err := lru.New[string, *rate.Limiter](keptBuckets)
		if err != nil {
			panic(err) // the size is a positive constant
		}
		return c
	}
	return &failures{addresses: table(), prefixes: table()}
}

// spent says whether an address or a token's beginning has failed too often to
// be worth a look.
func (f *failures) spent(address, prefix string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := func(c *lru.Cache[string, *rate.Limiter], key string) bool {
		l, ok := c.Get(key)
		return ok && key != "" && l.Tokens() < 1
	}
	return of(f.addresses, address) || of(f.prefixes, prefix)
}

// add counts one failure.
func (f *failures) add(address, prefix string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := func(c *lru.Cache[string, *rate.Limiter], key string, every time.Duration, burst int) {
		if key == "" {
			return
		}
		l, ok := c.Get(key)
		if !ok {
			l = rate.NewLimiter(rate.Every(every), burst)
			c.Add(key, l)
		}
		l.Allow()
	}
	count(f.addresses, address, addressEvery, addressBurst)
	count(f.prefixes, prefix, prefixEvery, prefixBurst)
}

// addressOf is who asks, as far as limits tell people apart: an IPv6 network
// of 64 bits is one. Behind a proxy it is what that says last.
func addressOf(r *http.Request, behindProxy bool) string {
	host := r.RemoteAddr
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if said := r.Header.Values("X-Forwarded-For"); behindProxy && len(said) > 0 {
		all := strings.Split(said[len(said)-1], ",")
		host = strings.TrimSpace(all[len(all)-1])
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return host[:min(len(host), 64)]
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// prefixOf tells tokens apart that are guessed at from others: the beginning of
// a static token, or of the signature of a JWT, which begins as all do.
func prefixOf(token string) string {
	if i := strings.LastIndexByte(token, '.'); i >= 0 {
		token = token[i+1:]
	}
	return token[:min(len(token), 16)]
}
