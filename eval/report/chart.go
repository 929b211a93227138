package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Chart draws lines over two axes.
type Chart struct {
	Title    string
	About    string // what to read from it
	X, Y     string // names of the axes
	LogX     bool
	Unit     bool // both axes go from 0 to 1
	Diagonal bool // a line from corner to corner, where the two agree
	Lines    []Line
}

// A Line is one series.
type Line struct {
	Name   string
	Points []Point
	Dots   bool // points are not joined
}

// A Point is one value; Size, when set, scales its dot.
type Point struct {
	X, Y float64
	Size float64
	Note string // shown on hover
}

// The drawing's size in user units: readable when scaled to a phone's width.
const (
	width, height            = 380, 260
	left, right, top, bottom = 42, 12, 10, 40
)

// A drawing is a chart in coordinates, for the template.
type drawing struct {
	Chart
	Width, Height   int
	Left, Right     float64 // edges of the plot
	Top, Bottom     float64
	XTicks, YTicks  []tick
	Series          []series
	XLabel, YMiddle float64
}

type tick struct {
	At   float64
	Text string
}

type series struct {
	Name  string
	Class string
	Path  string
	Dots  []dot
}

type dot struct {
	X, Y, R float64
	Note    string
}

// hues is how many colours the styles know; further series repeat them with
// another dash.
const hues = 8

func (c Chart) draw() drawing {
	d := drawing{Chart: c, Width: width, Height: height, Left: left, Right: width - right, Top: top, Bottom: height - bottom}
	d.XLabel, d.YMiddle = (d.Left+d.Right)/2, (d.Top+d.Bottom)/2
	x, y := c.axes()
	place := func(p Point) (float64, float64) {
		return d.Left + x.share(p.X)*(d.Right-d.Left), d.Bottom - y.share(p.Y)*(d.Bottom-d.Top)
	}
	for _, v := range x.ticks {
		px, _ := place(Point{X: v, Y: y.lo})
		d.XTicks = append(d.XTicks, tick{px, short(v)})
	}
	for _, v := range y.ticks {
		_, py := place(Point{X: x.lo, Y: v})
		d.YTicks = append(d.YTicks, tick{py, short(v)})
	}
	for i, l := range c.Lines {
		s := series{Name: l.Name, Class: fmt.Sprintf("c%d d%d", i%hues, i/hues%3)}
		var path strings.Builder
		for n, p := range l.Points {
			px, py := place(p)
			op := "L"
			if n == 0 {
				op = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", op, px, py)
			if l.Dots || len(l.Points) <= 24 {
				s.Dots = append(s.Dots, dot{px, py, 2.2 + 5*math.Sqrt(p.Size), p.Note})
			}
		}
		if !l.Dots {
			s.Path = path.String()
		}
		d.Series = append(d.Series, s)
	}
	return d
}

// An axis maps values to [0, 1].
type axis struct {
	lo, hi float64
	log    bool
	ticks  []float64
}

func (a axis) share(v float64) float64 {
	if a.log {
		return (math.Log(v) - math.Log(a.lo)) / (math.Log(a.hi) - math.Log(a.lo))
	}
	return (v - a.lo) / (a.hi - a.lo)
}

func (c Chart) axes() (x, y axis) {
	unit := axis{0, 1, false, []float64{0, .2, .4, .6, .8, 1}}
	if c.Unit {
		return unit, unit
	}
	xlo, xhi, ylo := math.Inf(1), math.Inf(-1), 1.0
	for _, l := range c.Lines {
		for _, p := range l.Points {
			xlo, xhi, ylo = min(xlo, p.X), max(xhi, p.X), min(ylo, p.Y)
		}
	}
	if xlo >= xhi {
		xlo, xhi = xlo*.9, xlo*1.1+1
	}
	if math.IsInf(xlo, 0) {
		xlo, xhi = 1, 2
	}
	x = axis{xlo, xhi, c.LogX, linear(xlo, xhi)}
	if c.LogX {
		x.ticks = decades(xlo, xhi)
	}
	ylo = max(0, math.Floor(ylo*10)/10)
	y = axis{ylo, 1, false, linear(ylo, 1)}
	if ylo >= 1 {
		y = axis{0, 1, false, linear(0, 1)}
	}
	return x, y
}

// linear gives some five round ticks within [lo, hi].
func linear(lo, hi float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(hi-lo)))
	for _, f := range []float64{.1, .2, .5, 1} {
		if (hi-lo)/(step*f) <= 6 {
			step *= f
			break
		}
	}
	var out []float64
	for n := math.Ceil(lo/step - 1e-9); n*step <= hi+step*1e-6; n++ {
		out = append(out, math.Round(n*step*1e9)/1e9)
	}
	return out
}

// decades gives ticks 1, 2 and 5 times powers of ten within [lo, hi], fewer
// when that would crowd.
func decades(lo, hi float64) []float64 {
	var out []float64
	for _, steps := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		out = out[:0]
		for p := math.Pow(10, math.Floor(math.Log10(lo))); p <= hi; p *= 10 {
			for _, s := range steps {
				if v := p * s; v >= lo*.999 && v <= hi*1.001 {
					out = append(out, v)
				}
			}
		}
		if len(out) <= 7 {
			break
		}
	}
	return out
}

// short writes a tick: 0.2, 50, 10k.
func short(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v/1000, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
