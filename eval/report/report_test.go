package report

import (
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, p Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageEscapesWhatOthersWrote(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	html := write(t, Page{Title: evil, Made: evil, Columns: []string{evil}, Notes: []string{evil},
		Sets:   []Set{{Name: evil, Cells: []*Cell{{Value: .5}, nil}}},
		Charts: []Chart{{Title: evil, X: evil, Lines: []Line{{Name: evil, Points: []Point{{X: 1, Y: .5, Note: evil}, {X: 2, Y: 1}}}}}},
		Worst:  []Miss{{Text: evil, Why: evil, Rows: []Row{{Tool: evil, Terms: evil}}}}})
	if strings.Contains(html, "<script") {
		t.Error("markup of a text came through")
	}
}

func TestEmptyPageHasNoParts(t *testing.T) {
	html := write(t, Page{Title: "nothing"})
	for _, part := range []string{"Sets", "Curves", "Latency", "Worst", "<svg"} {
		if strings.Contains(html, part) {
			t.Errorf("an empty page shows %q", part)
		}
	}
}

func TestChartsAreWellFormed(t *testing.T) {
	html := write(t, Page{Title: "t", Charts: []Chart{
		{Title: "a", Lines: []Line{{Name: "one", Points: []Point{{X: 1, Y: .2}, {X: 20, Y: .9}}}, {Name: "two", Points: []Point{{X: 1, Y: 1}}}}},
		{Title: "b", LogX: true, Lines: []Line{{Points: []Point{{X: 100, Y: .2}, {X: 20000, Y: .9}}}}},
		{Title: "c", Unit: true, Diagonal: true, Lines: []Line{{Dots: true, Points: []Point{{X: .5, Y: .5, Size: 1}}}}},
		{Title: "d"},
	}})
	charts := strings.Count(html, "<figure class=\"chart\"")
	if charts != 4 || strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
		t.Errorf("got %d charts, want 4 without odd numbers", charts)
	}
	for _, svg := range strings.SplitAfter(html, "</svg>") {
		i := strings.Index(svg, "<svg")
		if i < 0 {
			continue
		}
		dec := xml.NewDecoder(strings.NewReader(svg[i:]))
		for {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, svg[i:])
			}
		}
	}
}

func TestPointsStayInsideTheirAxes(t *testing.T) {
	for _, c := range []Chart{
		{Lines: []Line{{Points: []Point{{X: 1, Y: .34}, {X: 20, Y: 1}}}}},
		{Lines: []Line{{Points: []Point{{X: 7, Y: 0}}}}},
		{Lines: []Line{{Points: []Point{{X: 3, Y: 1}, {X: 4, Y: 1}}}}},
		{LogX: true, Lines: []Line{{Points: []Point{{X: 80, Y: .4}, {X: 24000, Y: .2}}}}},
		{Unit: true, Lines: []Line{{Dots: true, Points: []Point{{X: 0, Y: 0}, {X: 1, Y: 1}}}}},
	} {
		d := c.draw()
		for _, p := range d.Series[0].Dots {
			if !(p.X >= d.Left-.01 && p.X <= d.Right+.01 && p.Y >= d.Top-.01 && p.Y <= d.Bottom+.01) {
				t.Errorf("chart %+v: dot at %.1f, %.1f is outside", c.Lines, p.X, p.Y)
			}
		}
		for _, tick := range append(d.XTicks, d.YTicks...) {
			if math.IsNaN(tick.At) || tick.Text == "" {
				t.Errorf("chart %+v: tick %+v", c.Lines, tick)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		got, want []float64
	}{
		{linear(1, 20), []float64{5, 10, 15, 20}},
		{linear(.6, 1), []float64{.6, .7, .8, .9, 1}},
		{linear(0, 1), []float64{0, .2, .4, .6, .8, 1}},
		{decades(80, 600), []float64{100, 200, 500}},
		{decades(10, 20000), []float64{10, 30, 100, 300, 1000, 3000, 10000}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("got ticks %v, want %v", c.got, c.want)
		}
	}
	for v, want := range map[float64]string{.2: "0.2", 50: "50", 10000: "10k", 1500: "1.5k"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %q, want %q", v, got, want)
		}
	}
}
