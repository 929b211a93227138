package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1": true, "64:ff9b::808:808": true, "2002:808:808::": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false,
		"::1": false, "::": false, "fe80::1%eth0": false, "fc00::1": false, "fec0::1": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "ff02::1": false,
	} {
		if got := Public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Public(%s) = %v", addr, got)
		}
	}
	for host, want := range map[string]bool{"localhost": true, "x.LOCALHOST.": true, "127.1.2.3": true, "[::1]": true, "example.com": false, "8.8.8.8": false} {
		if got := NamesPrivate(host); got != want {
			t.Errorf("NamesPrivate(%s) = %v", host, got)
		}
	}
}

// The name is harmless; the address that it has when the connection is made
// is not.
func TestAddressesAreCheckedWhenDialled(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer srv.Close()
	named := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	for _, address := range []string{srv.URL, named} {
		if _, err := Fetch(context.Background(), address, 100, false); !errors.Is(err, ErrPrivate) {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

// A name whose address turns into a private one between a look at it and the
// connection.
func TestRebinding(t *testing.T) {
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	for _, private := range []string{"127.0.0.1", "169.254.169.254"} {
		net.DefaultResolver = newNameServer(t, "93.184.215.14", private).resolver()
		looked, err := net.DefaultResolver.LookupHost(t.Context(), "api.example")
		if err != nil || !slices.Equal(looked, []string{"93.184.215.14"}) {
			t.Fatalf("looked up %v, %v", looked, err)
		}
		_, err = Client(false).Get("http://api.example:9/")
		if !errors.Is(err, ErrPrivate) || !strings.Contains(err.Error(), private+" is ") {
			t.Errorf("%s: got %v", private, err)
		}
	}
}

// A nameServer answers with one address after the other, then with the last.
type nameServer struct {
	net.PacketConn
	addresses []string
}

func newNameServer(t *testing.T, addresses ...string) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn, addresses}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve()
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return s
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", s.LocalAddr().String())
	}}
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			a := netip.MustParseAddr(s.addresses[0]).As4()
			s.addresses = s.addresses[min(1, len(s.addresses)-1):]
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: a}}}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = s.WriteTo(reply, from) // the question comes again
		}
	}
}

func TestFetch(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/doc", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0123456789")) })
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/doc", http.StatusFound) })
	mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.example/doc", http.StatusFound)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for path, want := range map[string]string{"/doc": "", "/here": "", "/there": "leads to another host, http://other.example/doc", "/none": "it answers 404 Not Found"} {
		data, err := Fetch(t.Context(), srv.URL+path, 10, true)
		if want == "" && (err != nil || string(data) != "0123456789") {
			t.Errorf("%s: %q, %v", path, data, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	if _, err := Fetch(t.Context(), srv.URL+"/doc", 9, true); err == nil || err.Error() != "it is larger than 0 MiB" {
		t.Errorf("got %v", err)
	}
	for address, want := range map[string]string{"file:///etc/passwd": "no http or https address", "http://a b/": "it is no address"} {
		if _, err := Fetch(t.Context(), address, 9, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
