package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tooldex/tooldex/index"
)

// churning is an index whose vectors are never complete.
type churning struct{}

func (churning) Status() index.Status { return index.Status{} }

func (churning) Wait(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("wait for vectors: %w", ctx.Err())
}

// A catalog that others change without a pause does not hold reindex up,
// unless it was told to wait.
func TestAwaitVectorsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &app{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
		if err := a.awaitVectors(t.Context(), churning{}, false); err != nil {
			t.Errorf("got %v, want to go on", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := a.awaitVectors(ctx, churning{}, true); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil {
			t.Errorf("asked to wait: got %v", err)
		}
	})
}

func TestRefusedCredentialsAreNamed(t *testing.T) {
	for text, want := range map[string]bool{
		"not connected: HTTP 401 Unauthorized: no token": true, "not connected: failed to connect: Unauthorized": true, "HTTP 403 Forbidden": true,
		"HTTP 404 Not Found": false, "port 4010 is closed": false,
	} {
		f := serverFindings(relisting{Server: "s", Error: text})
		if got := strings.Contains(f[0].Remedy, "other credentials"); got != want {
			t.Errorf("%s: remedy %q", text, f[0].Remedy)
		}
	}
}
