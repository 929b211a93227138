package sample

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"
)

type calculateIn struct {
	Expression string             `json:"expression" jsonschema:"arithmetic with + - * / % ^, parentheses, sqrt, sin, log, min, max, pi, e and the names in variables"`
	Variables  map[string]float64 `json:"variables,omitempty" jsonschema:"values by name"`
}

type numberOut struct {
	Value float64 `json:"value"`
}

type convertUnitsIn struct {
	Value float64 `json:"value" jsonschema:"the number to convert"`
	From  string  `json:"from" jsonschema:"unit of the value, such as mile, kg, celsius or GiB"`
	To    string  `json:"to" jsonschema:"unit of the result, of the same quantity"`
}

type convertUnitsOut struct {
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Quantity string  `json:"quantity"`
}

type listUnitsIn struct {
	Quantity string `json:"quantity,omitempty" jsonschema:"list the units of this quantity only"`
}

type listUnitsOut struct {
	Quantities map[string][]string `json:"quantities" jsonschema:"names of units by quantity"`
}

type summarizeIn struct {
	Numbers     []float64 `json:"numbers" jsonschema:"the numbers to summarize"`
	Percentiles []float64 `json:"percentiles,omitempty" jsonschema:"also give these percentiles, each from 0 to 100"`
}

type percentile struct {
	Percent float64 `json:"percent"`
	Value   float64 `json:"value"`
}

type summarizeOut struct {
	Count       int          `json:"count"`
	Sum         float64      `json:"sum"`
	Mean        float64      `json:"mean"`
	Median      float64      `json:"median"`
	Min         float64      `json:"min"`
	Max         float64      `json:"max"`
	StdDev      float64      `json:"std_dev" jsonschema:"of the sample (divided by n-1)"`
	Percentiles []percentile `json:"percentiles"`
}

type convertBaseIn struct {
	Number string `json:"number" jsonschema:"the number as written in its base; 0x, 0o and 0b are understood when from is absent"`
	From   int    `json:"from,omitempty" jsonschema:"base of the number; 0 reads the prefix"`
	To     int    `json:"to" jsonschema:"base of the result"`
}

type textNumberOut struct {
	Number string `json:"number"`
}

type factorIn struct {
	Number int64 `json:"number" jsonschema:"a whole number"`
}

type factorOut struct {
	Prime   bool    `json:"prime"`
	Factors []int64 `json:"factors" jsonschema:"prime factors in ascending order, repeated as often as they divide"`
}

type point struct {
	Latitude  float64 `json:"latitude" jsonschema:"degrees north"`
	Longitude float64 `json:"longitude" jsonschema:"degrees east"`
}

type distanceIn struct {
	From point  `json:"from" jsonschema:"where to start"`
	To   point  `json:"to" jsonschema:"where to end"`
	Unit string `json:"unit,omitempty" jsonschema:"unit of the distance"`
}

type distanceOut struct {
	Distance float64 `json:"distance"`
	Unit     string  `json:"unit"`
}

func (s *Server) addNumbers() {
	const category = "Math and Units"
	add(s, category, tool{
		name: "calculate", title: "Calculator", description: "Evaluate an arithmetic expression with functions and variables.",
		tags: []string{"numbers", "math"}, examples: []map[string]any{{"expression": "2 * pi * r", "variables": map[string]any{"r": 3}}},
	}, calculate)
	add(s, category, tool{
		name: "convert_units", title: "Convert units", description: "Convert a measurement between units of length, mass, temperature, volume, area, speed, duration, data, energy or pressure.",
		tags: []string{"numbers", "units"}, examples: []map[string]any{{"value": 26.2, "from": "mile", "to": "km"}},
	}, convertUnits)
	add(s, category, tool{
		name: "list_units", title: "List units", description: "List the units of measurement that can be converted.",
		tags: []string{"numbers", "units"}, props: props{"quantity": {enum: quantities()}}, examples: []map[string]any{{"quantity": "length"}},
	}, listUnits)
	add(s, category, tool{
		name: "summarize_numbers", title: "Statistics of numbers", description: "Compute count, sum, mean, median, standard deviation and percentiles of a list of numbers.",
		tags: []string{"numbers", "statistics"}, props: props{"percentiles[]": {min: num(0), max: num(100)}},
		examples: []map[string]any{{"numbers": []int{3, 1, 4, 1, 5}, "percentiles": []int{90}}},
	}, summarize)
	add(s, category, tool{
		name: "convert_number_base", title: "Convert number base", description: "Rewrite a whole number in another base: binary, octal, decimal, hexadecimal or any base up to 36.",
		tags: []string{"numbers", "math"}, props: props{"to": {min: num(2), max: num(36)}, "from": {min: num(0), max: num(36)}},
		examples: []map[string]any{{"number": "ff", "from": 16, "to": 2}},
	}, convertBase)
	add(s, category, tool{
		name: "factor_integer", title: "Factor a whole number", description: "Split a whole number into its prime factors and tell whether it is prime.",
		tags: []string{"numbers", "math"}, props: props{"number": {min: num(2), max: num(1e12)}}, examples: []map[string]any{{"number": 360}},
	}, factorInteger)
	add(s, category, tool{
		name: "distance_between_points", title: "Distance between coordinates", description: "Compute the great-circle distance between two places on Earth from their latitude and longitude.",
		tags: []string{"numbers", "geography"}, props: distanceProps(),
		examples: []map[string]any{{"from": map[string]any{"latitude": 52.52, "longitude": 13.405}, "to": map[string]any{"latitude": 48.857, "longitude": 2.352}}},
	}, distance)
}

func distanceProps() props {
	p := props{"unit": {enum: []string{"km", "mi", "nmi"}, def: "km"}}
	for _, end := range []string{"from", "to"} {
		p[end+".latitude"] = prop{min: num(-90), max: num(90)}
		p[end+".longitude"] = prop{min: num(-180), max: num(180)}
	}
	return p
}

func calculate(_ context.Context, in calculateIn) (numberOut, error) {
	v, err := evaluate(in.Expression, in.Variables)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = fmt.Errorf("expression %q: has no finite value", in.Expression)
	}
	return numberOut{v}, err
}

func summarize(_ context.Context, in summarizeIn) (summarizeOut, error) {
	if len(in.Numbers) == 0 {
		return summarizeOut{}, fmt.Errorf("numbers: is empty")
	}
	sorted := slices.Sorted(slices.Values(in.Numbers))
	out := summarizeOut{Count: len(sorted), Min: sorted[0], Max: sorted[len(sorted)-1], Percentiles: []percentile{}}
	for _, v := range sorted {
		out.Sum += v
	}
	out.Mean = out.Sum / float64(out.Count)
	out.Median = quantile(sorted, .5)
	if out.Count > 1 {
		squares := 0.0
		for _, v := range sorted {
			squares += (v - out.Mean) * (v - out.Mean)
		}
		out.StdDev = math.Sqrt(squares / float64(out.Count-1))
	}
	for _, p := range in.Percentiles {
		out.Percentiles = append(out.Percentiles, percentile{p, quantile(sorted, p/100)})
	}
	return out, nil
}

// quantile interpolates linearly between the closest ranks.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

func convertBase(_ context.Context, in convertBaseIn) (textNumberOut, error) {
	if in.From == 1 {
		return textNumberOut{}, fmt.Errorf("from 1: want 0 or 2 to 36")
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(in.Number, " ", ""), in.From)
	if !ok {
		return textNumberOut{}, fmt.Errorf("number %q: not a whole number in base %d", in.Number, in.From)
	}
	return textNumberOut{n.Text(in.To)}, nil
}

func factorInteger(_ context.Context, in factorIn) (factorOut, error) {
	out := factorOut{}
	n := in.Number
	for d := int64(2); d*d <= n; d++ {
		for n%d == 0 {
			out.Factors = append(out.Factors, d)
			n /= d
		}
	}
	if n > 1 {
		out.Factors = append(out.Factors, n)
	}
	out.Prime = len(out.Factors) == 1
	return out, nil
}

// earthRadius is the mean radius in kilometres (IUGG).
const earthRadius = 6371.0088

func distance(_ context.Context, in distanceIn) (distanceOut, error) {
	rad := func(deg float64) float64 { return deg * math.Pi / 180 }
	lat1, lat2 := rad(in.From.Latitude), rad(in.To.Latitude)
	dlat, dlon := lat2-lat1, rad(in.To.Longitude-in.From.Longitude)
	h := math.Pow(math.Sin(dlat/2), 2) + math.Cos(lat1)*math.Cos(lat2)*math.Pow(math.Sin(dlon/2), 2)
	km := 2 * earthRadius * math.Asin(math.Min(1, math.Sqrt(h)))
	per := map[string]float64{"km": 1, "mi": 1.609344, "nmi": 1.852}[in.Unit]
	return distanceOut{Distance: math.Round(km/per*1000) / 1000, Unit: in.Unit}, nil
}

// unit converts by base = value*factor + offset.
type unit struct {
	factor, offset float64
}

// units by quantity and name; the first letter's case matters only where two
// names differ in it.
var units = map[string]map[string]unit{
	"length":      {"m": {1, 0}, "km": {1000, 0}, "cm": {.01, 0}, "mm": {.001, 0}, "mile": {1609.344, 0}, "yard": {.9144, 0}, "foot": {.3048, 0}, "inch": {.0254, 0}, "nautical_mile": {1852, 0}},
	"mass":        {"kg": {1, 0}, "g": {.001, 0}, "mg": {1e-6, 0}, "tonne": {1000, 0}, "pound": {.45359237, 0}, "ounce": {.028349523125, 0}, "stone": {6.35029318, 0}},
	"temperature": {"celsius": {1, 273.15}, "fahrenheit": {5.0 / 9, 459.67 * 5 / 9}, "kelvin": {1, 0}},
	"volume":      {"litre": {1, 0}, "ml": {.001, 0}, "m3": {1000, 0}, "gallon_us": {3.785411784, 0}, "gallon_uk": {4.54609, 0}, "pint_us": {.473176473, 0}, "cup_us": {.2365882365, 0}, "tablespoon_us": {.01478676478125, 0}, "teaspoon_us": {.00492892159375, 0}},
	"area":        {"m2": {1, 0}, "km2": {1e6, 0}, "hectare": {1e4, 0}, "acre": {4046.8564224, 0}, "square_foot": {.09290304, 0}, "square_mile": {2589988.110336, 0}},
	"speed":       {"m/s": {1, 0}, "km/h": {1 / 3.6, 0}, "mph": {.44704, 0}, "knot": {1852.0 / 3600, 0}},
	"duration":    {"second": {1, 0}, "minute": {60, 0}, "hour": {3600, 0}, "day": {86400, 0}, "week": {604800, 0}},
	"data":        {"byte": {1, 0}, "bit": {.125, 0}, "kB": {1e3, 0}, "MB": {1e6, 0}, "GB": {1e9, 0}, "TB": {1e12, 0}, "KiB": {1 << 10, 0}, "MiB": {1 << 20, 0}, "GiB": {1 << 30, 0}, "TiB": {1 << 40, 0}},
	"energy":      {"joule": {1, 0}, "kJ": {1e3, 0}, "kWh": {3.6e6, 0}, "calorie": {4.184, 0}, "kcal": {4184, 0}},
	"pressure":    {"pascal": {1, 0}, "hPa": {100, 0}, "bar": {1e5, 0}, "psi": {6894.757293168, 0}, "atm": {101325, 0}, "mmHg": {133.322387415, 0}},
}

func quantities() []string {
	var names []string
	for q := range units {
		names = append(names, q)
	}
	sort.Strings(names)
	return names
}

// unitNamed finds a unit by its name, by its plural, then without case.
func unitNamed(name string) (quantity, spelled string, u unit, err error) {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool {
			return strings.EqualFold(a, b) || strings.EqualFold(a, strings.TrimSuffix(b, "s"))
		},
	} {
		for _, q := range quantities() {
			for spelled, u := range units[q] {
				if same(spelled, name) {
					return q, spelled, u, nil
				}
			}
		}
	}
	return "", "", unit{}, fmt.Errorf("unit %q: unknown; list_units names them", name)
}

func convertUnits(_ context.Context, in convertUnitsIn) (convertUnitsOut, error) {
	q1, _, from, err := unitNamed(in.From)
	if err != nil {
		return convertUnitsOut{}, err
	}
	q2, name, to, err := unitNamed(in.To)
	if err != nil {
		return convertUnitsOut{}, err
	}
	if q1 != q2 {
		return convertUnitsOut{}, fmt.Errorf("convert %s to %s: one is a %s, the other a %s", in.From, in.To, q1, q2)
	}
	v := (in.Value*from.factor + from.offset - to.offset) / to.factor
	return convertUnitsOut{Value: round(v), Unit: name, Quantity: q1}, nil
}

// round drops the noise of binary fractions: twelve significant digits.
func round(v float64) float64 {
	var out float64
	if _, err := fmt.Sscan(fmt.Sprintf("%.12g", v), &out); err != nil {
		return v
	}
	return out
}

func listUnits(_ context.Context, in listUnitsIn) (listUnitsOut, error) {
	out := listUnitsOut{Quantities: map[string][]string{}}
	for q, us := range units {
		if in.Quantity != "" && q != in.Quantity {
			continue
		}
		for name := range us {
			out.Quantities[q] = append(out.Quantities[q], name)
		}
		sort.Strings(out.Quantities[q])
	}
	return out, nil
}
