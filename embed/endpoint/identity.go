package endpoint

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"time"
)

// An Identity names a vector space. Vectors of two identities never compare.
type Identity struct {
	Provider, Model string
	Digest          string // of the weights, or a fingerprint of the probe text's vector
	Dims            int    // 0: not learned yet
	QueryPrefix     string
	DocumentPrefix  string
}

// String is the canonical form, "provider/model@digest;d=dims", with a hash
// of the prefixes if there are any. Before the server was reached it is
// "provider/model@pending".
func (id Identity) String() string {
	if id.Dims == 0 {
		return id.Provider + "/" + id.Model + "@pending"
	}
	s := fmt.Sprintf("%s/%s@%s;d=%d", id.Provider, id.Model, id.Digest, id.Dims)
	if id.QueryPrefix != "" || id.DocumentPrefix != "" {
		sum := sha256.Sum256([]byte(id.QueryPrefix + "\x00" + id.DocumentPrefix))
		s += fmt.Sprintf(";p=%x", sum[:4])
	}
	return s
}

// Model is the identity of the vector space. It is pending until the server
// was reached, and changes when the server comes back with other weights.
func (e *Endpoint) Model() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.identity.String()
}

// relearn is how long an identity is trusted: a server can change its model
// between two requests without a failure in between.
const relearn = 5 * time.Minute

// probeText is embedded to learn a model's length and fingerprint. It is part
// of identities: changing it renames every model without a digest.
const probeText = "tooldex probe: list the files in a folder"

// aged reports that the identity should be learned again when convenient.
func (e *Endpoint) aged() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.learned.IsZero() && time.Since(e.learned) > relearn
}

// distrust makes the next text learn the identity first.
func (e *Endpoint) distrust() {
	e.mu.Lock()
	e.learned = time.Time{}
	e.mu.Unlock()
}

func (e *Endpoint) trusted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.learned.IsZero()
}

// Identify learns the identity unless it is known: two short requests.
func (e *Endpoint) Identify(ctx context.Context) error {
	if e.trusted() {
		return ctx.Err()
	}
	select {
	case e.identifying <- struct{}{}:
		defer func() { <-e.identifying }()
	case <-ctx.Done():
		return e.wrap(ctx.Err())
	}
	if e.trusted() {
		return ctx.Err()
	}
	return e.learn(ctx)
}

// learn asks the server for the model's digest and embeds the probe text.
func (e *Endpoint) learn(ctx context.Context) error {
	var digest string
	err := e.request(ctx, job{attempts: 2, lane: e.queries}, func(ctx context.Context) (err error) {
		digest, err = e.driver.Digest(ctx)
		return err
	})
	if err != nil {
		return e.wrap(err)
	}
	start := time.Now()
	v, err := e.probe(ctx)
	if err != nil {
		return e.wrap(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.latency = time.Since(start)
	if digest == "" {
		digest = e.fingerprintLocked(v)
	}
	e.identity.Digest, e.identity.Dims, e.probed = digest, len(v), v
	e.learned = time.Now()
	return nil
}

// probe embeds the probe text, whatever length its vector has.
func (e *Endpoint) probe(ctx context.Context) ([]float32, error) {
	vs, errs, err := e.send(ctx, job{texts: []string{probeText}, attempts: 2, lane: e.queries}, anyLength)
	if err == nil && errs != nil {
		err = errs[0]
	}
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}

// fingerprintLocked names the model by v unless v is, up to noise, what the
// last probe gave.
func (e *Endpoint) fingerprintLocked(v []float32) string {
	if len(v) == len(e.probed) && cosine(v, e.probed) > .999 {
		return e.identity.Digest
	}
	return fingerprint(v)
}

// fingerprint hashes a vector coarsely: of each quarter only the place and
// sign of the largest entry count, so that rounding, another batch or another
// processor gives the same, and another model hardly ever.
func fingerprint(v []float32) string {
	var b strings.Builder
	for q := range 4 {
		lo, hi := q*len(v)/4, (q+1)*len(v)/4
		best := lo
		for i := lo; i < hi; i++ {
			if abs(v[i]) > abs(v[best]) {
				best = i
			}
		}
		if lo < hi {
			fmt.Fprintf(&b, "%d:%t ", best, math.Signbit(float64(v[best])))
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return fmt.Sprintf("probe-%x", sum[:6])
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}
