package eval

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/phrased"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// bootstrapSamples is where a 95 % interval's ends stop moving in the third
// decimal on sets of some hundred queries.
const bootstrapSamples = 1000

// permutations is how many a randomisation test draws unless told otherwise.
const permutations = 10_000

// A Result is what Run measured: each set, and the mean over sets in which
// every set counts the same.
type Result struct {
	Sets          []*SetResult             `json:"sets"`
	Mean          map[string]float64       `json:"mean"`
	MeanIntervals map[string]stat.Interval `json:"mean_intervals"`
}

// A SetResult is what Run measured on one set.
type SetResult struct {
	Name         string                        `json:"name"`
	Split        string                        `json:"split"`
	Queries      int                           `json:"queries"`
	Unanswerable int                           `json:"unanswerable"` // of the queries; they count for claims only
	Tools        int                           `json:"tools"`
	Mode         index.Mode                    `json:"mode"`               // that answered
	Model        string                        `json:"model,omitempty"`    // identity of the vectors
	Degraded     int                           `json:"degraded,omitempty"` // queries that got less than the mode asked for
	Reason       string                        `json:"reason,omitempty"`   // why the first of them did
	Skipped      int                           `json:"skipped,omitempty"`  // lines that lenient reading passed over
	Phrases      *phrased.Report               `json:"phrases,omitempty"`  // absent without any
	Metrics      map[string]float64            `json:"metrics"`
	Intervals    map[string]stat.Interval      `json:"intervals"` // 95 %, bootstrap over queries
	Kinds        map[string]map[string]float64 `json:"kinds,omitempty"`
	Claims       metric.Claims                 `json:"claims"`
	Calibrated   bool                          `json:"calibrated"` // the search had thresholds to make claims with
	Latency      Latency                       `json:"latency_ms"`
	PerQuery     []QueryResult                 `json:"-"`

	samples map[string][]float64 // resampled means by metric
}

// Latency is of one search at a time, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

func latency(took []time.Duration) Latency {
	ms := make([]float64, len(took))
	for i, d := range took {
		ms[i] = float64(d) / float64(time.Millisecond)
	}
	slices.Sort(ms)
	return Latency{stat.Quantile(ms, .5), stat.Quantile(ms, .99)}
}

// Title names the set and its split.
func (r *SetResult) Title() string { return labels.Title(r.Name, r.Split) }

// A QueryResult is one query's ranking and its values.
type QueryResult struct {
	Set        string         `json:"set"`
	Split      string         `json:"split"`
	ID         string         `json:"query"`
	Text       string         `json:"text"`
	Kind       string         `json:"kind,omitempty"`
	Relevant   map[string]int `json:"relevant"`
	Mode       index.Mode     `json:"mode"`
	Model      string         `json:"model,omitempty"`
	Degraded   string         `json:"degraded,omitempty"` // why the mode is less than asked for
	Calibrated bool           `json:"calibrated"`
	Confidence string         `json:"confidence,omitempty"`
	Weak       bool           `json:"weak_match"`
	Metrics    metric.Values  `json:"metrics,omitempty"` // absent for an unanswerable query
	Ranking    []Row          `json:"ranking"`
}

// A Row is one tool of a ranking with its fused score.
type Row struct {
	Tool  string  `json:"tool"`
	Score float64 `json:"score"`
}

func (q QueryResult) tools() []string {
	out := make([]string, len(q.Ranking))
	for i, r := range q.Ranking {
		out[i] = r.Tool
	}
	return out
}

// Outcome is what the query says about claims.
func (q QueryResult) Outcome() metric.Outcome {
	o := metric.Outcome{Answerable: len(q.Relevant) > 0, Weak: q.Weak, High: q.Confidence == "high"}
	if len(q.Ranking) > 0 {
		o.Score = q.Ranking[0].Score
		_, o.Right = q.Relevant[q.Ranking[0].Tool]
	}
	return o
}

// score fills a set's figures from its queries.
func (r *SetResult) score(o Options) error {
	if err := r.identify(); err != nil {
		return err
	}
	names := metric.Names(o.K)
	columns := make([][]float64, len(names))
	outcomes := make([]metric.Outcome, len(r.PerQuery))
	kinds := map[string][]metric.Values{}
	for i, q := range r.PerQuery {
		outcomes[i] = q.Outcome()
		r.Calibrated = r.Calibrated || q.Calibrated
		if q.Metrics == nil {
			r.Unanswerable++
			continue
		}
		for c, name := range names {
			columns[c] = append(columns[c], q.Metrics[name])
		}
		if q.Kind != "" {
			kinds[q.Kind] = append(kinds[q.Kind], q.Metrics)
		}
	}
	r.Claims = metric.Claim(outcomes, r.Calibrated)
	r.Metrics, r.Intervals = map[string]float64{}, map[string]stat.Interval{}
	if r.Unanswerable < len(r.PerQuery) {
		r.average(names, columns, o.Seed)
	}
	r.Kinds = averageKinds(names, kinds)
	return nil
}

func (r *SetResult) average(names []string, columns [][]float64, seed uint64) {
	r.samples = map[string][]float64{}
	for c, means := range stat.Resample(columns, bootstrapSamples, seed) {
		r.Metrics[names[c]] = stat.Mean(columns[c])
		r.Intervals[names[c]] = stat.Percentiles(means)
		r.samples[names[c]] = means
	}
}

func averageKinds(names []string, kinds map[string][]metric.Values) map[string]map[string]float64 {
	if len(kinds) == 0 {
		return nil
	}
	out := make(map[string]map[string]float64, len(kinds))
	for kind, values := range kinds {
		m := map[string]float64{"queries": float64(len(values))}
		for _, name := range names {
			for _, v := range values {
				m[name] += v[name] / float64(len(values))
			}
		}
		out[kind] = m
	}
	return out
}

// identify says which mode and vectors answered most queries, and how many
// got less than was asked for.
func (r *SetResult) identify() error {
	count := map[index.Mode]int{}
	for _, q := range r.PerQuery {
		count[q.Mode]++
		if q.Degraded != "" {
			r.Degraded++
			r.Reason = cmp.Or(r.Reason, q.Degraded)
		} else {
			r.Model = q.Model
		}
	}
	for mode, n := range count {
		if n > count[r.Mode] || n == count[r.Mode] && mode < r.Mode {
			r.Mode = mode
		}
	}
	if r.Mode == index.Semantic && r.Degraded == len(r.PerQuery) {
		return errors.New(r.Reason)
	}
	return nil
}

// summarise averages the sets that have answerable queries.
func (res *Result) summarise(o Options) {
	res.Mean, res.MeanIntervals = map[string]float64{}, map[string]stat.Interval{}
	var with []*SetResult
	for _, s := range res.Sets {
		if s.samples != nil {
			with = append(with, s)
		}
	}
	if len(with) == 0 {
		return
	}
	for _, name := range metric.Names(o.K) {
		means := make([]float64, bootstrapSamples)
		for _, s := range with {
			res.Mean[name] += s.Metrics[name] / float64(len(with))
			for i, m := range s.samples[name] {
				means[i] += m / float64(len(with))
			}
		}
		res.MeanIntervals[name] = stat.Percentiles(means)
	}
}
