package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
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
