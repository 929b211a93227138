package sample

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

type calculateIn struct {
	Expression string             `json:"expression" jsonschema:"arithmetic with + - * / %, parentheses, sqrt, pow, sin, log, min, max, pi and the names in variables"`
	Variables  map[string]float64 `json:"variables,omitempty" jsonschema:"values by name"`
}

type numberOut struct {
	Value float64 `json:"value"`
}

type convertUnitsIn struct {
	Value float64 `json:"value" jsonschema:"the number to convert"`
	From  string  `json:"from" jsonschema:"unit of the value"`
	To    string  `json:"to" jsonschema:"unit of the result, of the same quantity"`
}

type convertUnitsOut struct {
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Quantity string  `json:"quantity"`
}

type summarizeIn struct {
	Numbers []float64 `json:"numbers" jsonschema:"the numbers to summarize"`
}

type summarizeOut struct {
	Count  int     `json:"count"`
	Sum    float64 `json:"sum"`
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
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
	names := slices.Sorted(maps.Keys(units))
	add(s, category, tool{
		name: "convert_units", title: "Convert units", description: "Convert a measurement between units of length, mass, temperature, volume, speed or data.",
		tags: []string{"numbers", "units"}, props: props{"from": {enum: names}, "to": {enum: names}},
		examples: []map[string]any{{"value": 26.2, "from": "mile", "to": "km"}},
	}, convertUnits)
	add(s, category, tool{
		name: "summarize_numbers", title: "Statistics of numbers", description: "Compute count, sum, mean, median, minimum and maximum of a list of numbers.",
		tags: []string{"numbers", "statistics"}, examples: []map[string]any{{"numbers": []int{3, 1, 4, 1, 5}}},
	}, summarize)
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
	return numberOut{v}, err
}

func summarize(_ context.Context, in summarizeIn) (summarizeOut, error) {
	n := len(in.Numbers)
	if n == 0 {
		return summarizeOut{}, errors.New("numbers: is empty")
	}
	sorted := slices.Sorted(slices.Values(in.Numbers))
	out := summarizeOut{Count: n, Min: sorted[0], Max: sorted[n-1], Median: (sorted[(n-1)/2] + sorted[n/2]) / 2}
	for _, v := range sorted {
		out.Sum += v
	}
	out.Mean = out.Sum / float64(n)
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
	quantity       string
	factor, offset float64
}

var units = map[string]unit{
	"m": {"length", 1, 0}, "km": {"length", 1000, 0}, "cm": {"length", .01, 0}, "mile": {"length", 1609.344, 0}, "foot": {"length", .3048, 0}, "inch": {"length", .0254, 0},
	"kg": {"mass", 1, 0}, "g": {"mass", .001, 0}, "pound": {"mass", .45359237, 0}, "ounce": {"mass", .028349523125, 0},
	"celsius": {"temperature", 1, 273.15}, "fahrenheit": {"temperature", 5.0 / 9, 459.67 * 5 / 9}, "kelvin": {"temperature", 1, 0},
	"litre": {"volume", 1, 0}, "ml": {"volume", .001, 0}, "gallon_us": {"volume", 3.785411784, 0}, "cup_us": {"volume", .2365882365, 0},
	"m/s": {"speed", 1, 0}, "km/h": {"speed", 1 / 3.6, 0}, "mph": {"speed", .44704, 0},
	"MB": {"data", 1e6, 0}, "GB": {"data", 1e9, 0}, "MiB": {"data", 1 << 20, 0}, "GiB": {"data", 1 << 30, 0},
}

func convertUnits(_ context.Context, in convertUnitsIn) (convertUnitsOut, error) {
	from, to := units[in.From], units[in.To]
	if from.quantity != to.quantity {
		return convertUnitsOut{}, fmt.Errorf("convert %s to %s: one is a %s, the other a %s", in.From, in.To, from.quantity, to.quantity)
	}
	// Twelve significant digits are free of the noise of binary fractions.
	text := strconv.FormatFloat((in.Value*from.factor+from.offset-to.offset)/to.factor, 'g', 12, 64)
	v, err := strconv.ParseFloat(text, 64)
	return convertUnitsOut{Value: v, Unit: in.To, Quantity: from.quantity}, err
}
