package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue signs a certificate, the authority's own for the first one.
func (a *authority) issue(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) files(dir, host string) Files {
	a.t.Helper()
	cert, key := a.issue(&x509.Certificate{DNSNames: []string{host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	f := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem")}
	for path, block := range map[string]*pem.Block{
		f.Cert: {Type: "CERTIFICATE", Bytes: cert.Raw}, f.Key: {Type: "PRIVATE KEY", Bytes: der}, f.ClientCA: {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return f
}

// client is what a client with a certificate, or with none, is shown: the host
// of the server's.
func (a *authority) client(addr, host string, mine ...tls.Certificate) error {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool, ServerName: host, Certificates: mine})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1)) // the server has looked by then
	return err
}

func TestFilesChange(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secured, err := Listen(ln, a.files(dir, "one.example"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer secured.Close()
	go func() {
		for conn, err := secured.Accept(); err == nil; conn, err = secured.Accept() {
			go func() { _, _ = conn.Write([]byte("x")); _ = conn.Close() }() // the client says what went wrong
		}
	}()
	addr := ln.Addr().String()
	if err := a.client(addr, "one.example"); err != nil {
		t.Error(err)
	}
	stranger := newAuthority(t)
	cert, key := stranger.issue(&x509.Certificate{DNSNames: []string{"evil"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err := a.client(addr, "one.example", tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}); err == nil {
		t.Error("a client was let in with the certificate of a stranger")
	}
	cert, key = a.issue(&x509.Certificate{DNSNames: []string{"friend"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err := a.client(addr, "one.example", tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}); err != nil {
		t.Error(err)
	}
}

// A file that is replaced is shown from then on; one that is wrong is not.
func TestReload(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	k := &kept{files: a.files(dir, "one.example"), log: slog.New(slog.DiscardHandler)}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		k.looked = time.Time{} // long ago
		return k.current().Certificates[0].Leaf.DNSNames[0]
	}
	a.files(dir, "two.example")
	if got := shown(); got != "two.example" {
		t.Errorf("after the files changed it shows %s", got)
	}
	if err := os.WriteFile(k.files.Key, []byte("no key at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(); got != "two.example" {
		t.Errorf("with a broken key it shows %s", got)
	}
	if _, err := Listen(nil, k.files, k.log); err == nil {
		t.Error("a broken key was taken at the start")
	}
	if _, err := Listen(nil, Files{Cert: "nowhere"}, k.log); err == nil {
		t.Error("files that are not there were taken")
	}
}
