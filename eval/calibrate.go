package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// CalibrateOptions say how to calibrate. The zero value is ready to use.
type CalibrateOptions struct {
	Options
	Queries   int     // answerable queries drawn from each set; 0 means 500
	Share     float64 // of unanswerable queries in the mix that claims are judged on; 0 means .2
	Precision float64 // that a claim of high confidence must keep; 0 means .9
	Wrong     float64 // share of weak matches whose first row must be wrong; 0 means .75
	Coverage  float64 // least share of queries a claim must speak of; 0 means .05
}

func (o CalibrateOptions) withDefaults() CalibrateOptions {
	o.Options = o.Options.withDefaults()
	if o.Params == nil {
		o.Params = new(index.DefaultParams())
	}
	o.Queries = cmp.Or(o.Queries, 500)
	o.Share, o.Coverage = cmp.Or(o.Share, .2), cmp.Or(o.Coverage, .05)
	o.Precision, o.Wrong = cmp.Or(o.Precision, .9), cmp.Or(o.Wrong, .75)
	return o
}

// A Calibration is what Calibrate found.
type Calibration struct {
	Mode        index.Mode   `json:"mode"`
	Model       string       `json:"model,omitempty"`
	Key         string       `json:"key"` // of Params.Confidence
	Queries     int          `json:"queries"`
	Share       float64      `json:"unanswerable_share"`
	High        Claim        `json:"high"`
	Weak        Claim        `json:"weak"`
	AUC         *float64     `json:"auc"` // answerable against unanswerable, by the first row's score
	ECE         float64      `json:"ece"`
	Reliability []metric.Bin `json:"reliability"`
	Params      index.Params `json:"params"` // with the thresholds that the data support
}

// A Claim is one threshold and how it did on sets that it was not fitted to.
type Claim struct {
	Threshold float64     `json:"threshold"` // fitted on all sets; 0 when it is not supported
	Target    float64     `json:"target"`    // share of claims that must hold
	Precision float64     `json:"precision"` // of held-out sets together
	Lower     float64     `json:"lower"`     // its one-sided 95 % lower bound
	Coverage  float64     `json:"coverage"`  // of queries, the lesser of held-out ones and all with the threshold
	Supported bool        `json:"supported"`
	Reason    string      `json:"reason"`
	Sets      []HeldClaim `json:"sets"`
}

// HeldClaim is a claim on one set with the threshold that the others chose.
type HeldClaim struct {
	Set       string  `json:"set"`
	Threshold float64 `json:"threshold"` // 0: the others support none
	Claims    int     `json:"claims"`
	Holds     int     `json:"holds"`
	Queries   int     `json:"queries"`
}

// Calibrate fits the thresholds of Results.Confidence and WeakMatch for one
// mode and model. Unanswerable queries are the sets' own, and answerable ones
// whose right tools, with their near-duplicates, are taken out of the catalog.
// A threshold is supported when thresholds fitted without a set keep the
// promise on the left-out sets together.
func Calibrate(ctx context.Context, sets []*labels.Set, o CalibrateOptions) (*Calibration, error) {
	o = o.withDefaults()
	if len(sets) < 2 {
		return nil, errors.New("calibrate: one set cannot show that a threshold generalises; give two or more")
	}
	mixes, err := mixSets(ctx, sets, o)
	if err != nil {
		return nil, err
	}
	c := &Calibration{Mode: o.Mode, Share: o.Share, Params: clone(*o.Params)}
	if o.Embedder == nil {
		c.Mode = index.Keyword
	} else if o.Mode != index.Keyword {
		c.Model = o.Embedder.Model()
	}
	stable, _, _ := strings.Cut(c.Model, "@")
	c.Key = string(c.Mode) + " " + stable
	c.measure(mixes)
	c.High = fitClaim(sets, mixes, high, o.Precision, o.Coverage)
	c.Weak = fitClaim(sets, mixes, weak, o.Wrong, o.Coverage)
	c.apply()
	return c, nil
}

// apply puts the supported thresholds into the parameters.
func (c *Calibration) apply() {
	t := index.Thresholds{High: c.High.Threshold, Weak: c.Weak.Threshold}
	if c.Params.Confidence == nil {
		c.Params.Confidence = map[string]index.Thresholds{}
	}
	delete(c.Params.Confidence, c.Key)
	if t != (index.Thresholds{}) {
		c.Params.Confidence[c.Key] = t
	}
}

func (c *Calibration) measure(mixes [][]metric.Outcome) {
	all := slices.Concat(mixes...)
	c.Queries = len(all)
	c.AUC = metric.Claim(all, false).AUC
	c.Reliability = metric.Reliability(all, 10)
	c.ECE = metric.ECE(c.Reliability)
}

// mixSets asks every set and mixes answerable and unanswerable queries in the
// wanted share.
func mixSets(ctx context.Context, sets []*labels.Set, o CalibrateOptions) ([][]metric.Outcome, error) {
	lib := newLibrary(o.Options)
	defer lib.close()
	var out [][]metric.Outcome
	for _, s := range sets {
		ix, err := lib.open(ctx, s)
		if err != nil {
			return nil, err
		}
		got, err := askSet(ctx, ix, s, o.Queries, o.Options)
		if err != nil {
			return nil, fmt.Errorf("calibrate: set %s: %w", s.Title(), err)
		}
		out = append(out, got.mix(o.Share, o.Seed))
	}
	return out, nil
}

// mix returns the answerable outcomes with as many unanswerable ones, own and
// made ones in random order, as the share asks for.
func (o outcomes) mix(share float64, seed uint64) []metric.Outcome {
	never := slices.Concat(o.never, o.without)
	stat.Source(seed).Shuffle(len(never), func(i, j int) { never[i], never[j] = never[j], never[i] })
	n := int(share/(1-share)*float64(len(o.answerable)) + .5)
	return append(o.answerable, never[:min(n, len(never))]...)
}

// A side is what a threshold claims, and of which rows.
type side struct {
	name  string
	above bool // it claims that first rows from the threshold up are right, else that those below it are wrong
}

var (
	high = side{"confidence high", true}
	weak = side{"weak match", false}
)

// count counts a side's claims over outcomes, and those that hold.
func (s side) count(os []metric.Outcome, threshold float64) (claims, holds int) {
	for _, o := range os {
		if (o.Score >= threshold) == s.above {
			claims++
			if o.Right == s.above {
				holds++
			}
		}
	}
	return claims, holds
}

// fit returns the round threshold that claims most while the lower bound of
// what holds reaches target, 0 when none does.
func (s side) fit(mixes [][]metric.Outcome, skip int, target float64) float64 {
	for i := 1; i < 100; i++ {
		t := float64(i) / 100
		if !s.above {
			t = float64(100-i) / 100
		}
		claims, holds := 0, 0
		for m, os := range mixes {
			if m != skip {
				c, h := s.count(os, t)
				claims, holds = claims+c, holds+h
			}
		}
		if stat.LowerBound(holds, claims) >= target {
			return t
		}
	}
	return 0
}

// fitClaim fits a threshold on all sets and judges it by those fitted without
// each set in turn. Sets differ more than chance would have it, so a fit to
// the target itself falls short of it on other sets: the fit is made stricter
// until held-out sets keep the target, or nothing is left to claim.
func fitClaim(sets []*labels.Set, mixes [][]metric.Outcome, s side, target, coverage float64) Claim {
	var first Claim
	for fit := target; fit < .995; fit += .01 {
		c := tryClaim(sets, mixes, s, [2]float64{target, fit})
		if fit == target {
			first = c
		}
		if c.Threshold == 0 || c.Coverage < coverage {
			break
		}
		if c.Lower >= target {
			c.Supported = true
			c.Reason = fmt.Sprintf("on held-out sets %s holds in %.1f %% of cases, surely in %.1f %%, and speaks of %.1f %% of queries",
				s.name, 100*c.Precision, 100*c.Lower, 100*c.Coverage)
			return c
		}
	}
	first.refuse(s, coverage)
	return first
}

// refuse says why a claim is not supported.
func (c *Claim) refuse(s side, coverage float64) {
	switch {
	case c.Threshold == 0:
		c.Reason = fmt.Sprintf("no threshold of %s holds in %.0f %% of cases on these sets", s.name, 100*c.Target)
	case c.Lower < c.Target:
		c.Reason = fmt.Sprintf("on held-out sets %s holds in %.1f %% of cases, surely in %.1f %%; want %.0f %%: the data do not support a threshold",
			s.name, 100*c.Precision, 100*c.Lower, 100*c.Target)
	default:
		c.Reason = fmt.Sprintf("%s would speak of %.1f %% of queries; under %.0f %% a claim is not worth making", s.name, 100*c.Coverage, 100*coverage)
	}
	c.Threshold = 0
}

// tryClaim measures a claim fitted to the second target on held-out sets.
func tryClaim(sets []*labels.Set, mixes [][]metric.Outcome, s side, targets [2]float64) Claim {
	c := Claim{Target: targets[0], Threshold: s.fit(mixes, -1, targets[1])}
	claims, holds, queries := 0, 0, 0
	for i, set := range sets {
		h := HeldClaim{Set: set.Title(), Threshold: s.fit(mixes, i, targets[1]), Queries: len(mixes[i])}
		if h.Threshold > 0 {
			h.Claims, h.Holds = s.count(mixes[i], h.Threshold)
		}
		claims, holds, queries = claims+h.Claims, holds+h.Holds, queries+h.Queries
		c.Sets = append(c.Sets, h)
	}
	c.Lower = stat.LowerBound(holds, claims)
	c.Coverage = float64(claims) / float64(max(1, queries))
	c.Precision = float64(holds) / float64(max(1, claims))
	if c.Threshold > 0 { // the threshold to ship may claim less than those of the left-out sets
		all := 0
		for _, os := range mixes {
			n, _ := s.count(os, c.Threshold)
			all += n
		}
		c.Coverage = min(c.Coverage, float64(all)/float64(queries))
	}
	return c
}
