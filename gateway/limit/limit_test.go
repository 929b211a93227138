package limit

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// exceeded is the error of what must go beyond a limit.
func exceeded(t *testing.T, err error, limit string) *Exceeded {
	t.Helper()
	var e *Exceeded
	if !errors.As(err, &e) || !strings.Contains(e.Limit, limit) {
		t.Fatalf("error %v, want one of %q", err, limit)
	}
	return e
}

func must(t *testing.T, done func(), err error) func() {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestCallsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Principal: Rates{Calls: 6, Searches: 2}})
		a, b := Use{Principal: "a", Server: "s"}, Use{Principal: "b", Server: "s"}
		call := func(u Use) error {
			done, err := x.Call(u)
			if err == nil {
				done()
			}
			return err
		}
		for range 6 {
			if err := call(a); err != nil {
				t.Fatal(err)
			}
		}
		e := exceeded(t, call(a), "6 calls a minute for one principal")
		if e.After.Round(time.Millisecond) != 10*time.Second {
			t.Errorf("again after %v, want 10 s", e.After)
		}
		if err := errors.Join(call(b), x.Search(a), x.Search(a)); err != nil {
			t.Errorf("another principal's call, or a search: %v", err)
		}
		exceeded(t, x.Search(a), "2 searches a minute")
		time.Sleep(e.After + time.Millisecond)
		if err := call(a); err != nil {
			t.Errorf("after the time that was named: %v", err)
		}
		exceeded(t, call(a), "6 calls")
	})
}

func TestCallsAtOnce(t *testing.T) {
	x := New(Limits{Server: Rates{Concurrent: 2}})
	u := Use{Principal: "a", Server: "s"}
	call := func() func() { done, err := x.Call(u); return must(t, done, err) }
	first, second := call(), call()
	_, err := x.Call(u)
	exceeded(t, err, "2 calls at once for one server")
	if done, err := x.Call(Use{Principal: "a", Server: "other"}); err != nil {
		t.Errorf("another server: %v", err)
	} else {
		done()
	}
	first()
	third := call()
	second()
	third()
}

// What one limit refuses takes nothing from another.
func TestRefusedCallsCostNothing(t *testing.T) {
	x := New(Limits{Principal: Rates{Calls: 2}, Server: Rates{Calls: 1}})
	call := func(server string) error {
		done, err := x.Call(Use{Server: server})
		if err == nil {
			done()
		}
		return err
	}
	if err := call("s"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		exceeded(t, call("s"), "one server")
	}
	if err := call("other"); err != nil {
		t.Errorf("the principal's second call: %v", err)
	}
	exceeded(t, call("third"), "one principal")
}

func TestLimitsChange(t *testing.T) {
	x := New(Limits{})
	for range 1000 {
		if err := x.Search(Use{}); err != nil {
			t.Fatal(err)
		}
	}
	x.Set(Limits{Endpoint: Rates{Searches: 1}})
	u := Use{Endpoint: "e"}
	if err := x.Search(u); err != nil {
		t.Fatal(err)
	}
	exceeded(t, x.Search(u), "one endpoint")
	x.Set(Limits{Endpoint: Rates{Searches: 5}})
	if err := x.Search(u); err != nil {
		t.Errorf("under a wider limit: %v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	x := New(Limits{Principal: Rates{Calls: 1 << 30, Concurrent: 8}, Server: Rates{Calls: 1 << 30}})
	for b.Loop() {
		done, err := x.Call(Use{Principal: "a", Server: "s"})
		if err != nil {
			b.Fatal(err)
		}
		done()
	}
}
