// Package certs makes a listener speak TLS with certificates of files, which
// may be replaced while it listens.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// Files are where certificates are, in PEM.
type Files struct {
	Cert, Key string
	ClientCA  string // that signs those of clients; "" asks clients for none
}

// lookEvery bounds how often a handshake looks at the files.
const lookEvery = time.Second

// Listen is ln with TLS. Its error says what of the files cannot be used; once
// it listens, files that become wrong change nothing, and are logged.
func Listen(ln net.Listener, f Files, log *slog.Logger) (net.Listener, error) {
	k := &kept{files: f, log: log}
	if err := k.load(); err != nil {
		return nil, err
	}
	return tls.NewListener(ln, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil },
	}), nil
}

// kept is the configuration that the files gave last.
type kept struct {
	files Files
	log   *slog.Logger

	mu     sync.Mutex // guards the fields below
	config *tls.Config
	seen   string // how the files looked then
	looked time.Time
}

// current is the configuration by now.
func (k *kept) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) < lookEvery {
		return k.config
	}
	k.looked = time.Now()
	if now := k.files.look(); now != k.seen {
		if err := k.load(); err != nil {
			k.log.Error("the certificate in force stays", "error", err)
			k.seen = now // say so once
		} else {
			k.log.Info("certificate read again", "file", k.files.Cert)
		}
	}
	return k.config
}

// look is a text that differs when a file does.
func (f Files) look() (text string) {
	for _, path := range []string{f.Cert, f.Key, f.ClientCA} {
		if info, err := os.Stat(path); err == nil {
			text += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return text
}

// load reads the files. The caller holds the lock, or is the only one.
func (k *kept) load() error {
	seen := k.files.look() // before, so that what changes meanwhile is read again
	cert, err := tls.LoadX509KeyPair(k.files.Cert, k.files.Key)
	if err != nil {
		return fmt.Errorf("tls: certificate %s with key %s: %w", k.files.Cert, k.files.Key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}
	if k.files.ClientCA != "" {
		pem, err := os.ReadFile(k.files.ClientCA)
		if err != nil {
			return fmt.Errorf("tls.client_ca: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls.client_ca: there is no certificate in %s", k.files.ClientCA)
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven // who has none shows a token
	}
	k.config, k.seen = config, seen
	return nil
}
