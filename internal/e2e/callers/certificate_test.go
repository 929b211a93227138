package callers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue signs a certificate, itself before there is one to sign with.
func (a *authority) issue(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

// write puts a certificate, its key and the authority's certificate into a
// folder.
func (a *authority) write(dir string) {
	a.t.Helper()
	cert, key := a.issue(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: der}, "ca.pem": {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// client is the certificate of a client with these names.
func (a *authority) client(names *x509.Certificate) tls.Certificate {
	names.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	cert, key := a.issue(names)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// Over mutual TLS a client is whom its certificate names; certificates of
// strangers are not let in, and who has none shows a token.
func TestCertificates(t *testing.T) {
	books := owning(t, named("ledger"))
	a, dir, bot := newAuthority(t), t.TempDir(), newToken()
	a.write(dir)
	w := begin(t, fmt.Sprintf(`
mcpServers: {books: {url: %q, start: eager}}
tls: {cert: %q, key: %q, client_ca: %q}
auth:
  tokens: {bot: {hash: %q}}
  grants:
    - {principals: ["cert:build.example.com", "token:bot"], endpoints: [default], role: use}
`, books.url, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem"), bot.hash))
	w.listed(1)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	with := func(certs ...tls.Certificate) caller {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}}
		t.Cleanup(tr.CloseIdleConnections)
		own := *w
		own.client = &http.Client{Transport: tr}
		return own.as("")
	}
	stranger := newAuthority(t)
	for name, tt := range map[string]struct {
		as   caller
		want string
	}{
		"its own name":                {with(a.client(&x509.Certificate{DNSNames: []string{"build.example.com"}})), "books/ledger"},
		"another name":                {with(a.client(&x509.Certificate{DNSNames: []string{"other.example.com", "build.example.com"}})), ""},
		"a name in the subject alone": {with(a.client(&x509.Certificate{Subject: pkix.Name{CommonName: "build.example.com"}})), "401"},
		"no certificate":              {with(), "401"},
		"a stranger's":                {with(stranger.client(&x509.Certificate{DNSNames: []string{"build.example.com"}})), "0"},
		"one that is over":            {with(a.client(&x509.Certificate{DNSNames: []string{"build.example.com"}, NotAfter: time.Now().Add(-time.Minute)})), "0"},
		"a token in its place":        {caller{with().world, bot.secret}, "books/ledger"},
	} {
		got := tt.as.sees()
		if ok := got == tt.want || tt.want != "" && strings.HasPrefix(got, tt.want); !ok {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
