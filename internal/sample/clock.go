package sample

import (
	"context"
	"fmt"
	"time"
)

type zoneIn struct {
	Zone string `json:"zone,omitempty" jsonschema:"IANA time zone such as Europe/Berlin"`
}

type instantOut struct {
	Time    string `json:"time" jsonschema:"RFC 3339"`
	Zone    string `json:"zone"`
	Offset  string `json:"offset" jsonschema:"difference to UTC"`
	Weekday string `json:"weekday"`
	Unix    int64  `json:"unix" jsonschema:"seconds since 1970-01-01T00:00:00Z"`
}

type convertZoneIn struct {
	Time string `json:"time" jsonschema:"date and time, RFC 3339 or YYYY-MM-DD HH:MM"`
	From string `json:"from,omitempty" jsonschema:"zone of a time without offset"`
	To   string `json:"to" jsonschema:"IANA time zone to convert to"`
}

type timeBetweenIn struct {
	From string `json:"from" jsonschema:"date or date and time"`
	To   string `json:"to" jsonschema:"date or date and time"`
	Unit string `json:"unit,omitempty" jsonschema:"unit of the result"`
}

type timeBetweenOut struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func (s *Server) addTime() {
	const category = "Date and Time"
	add(s, category, tool{
		name: "current_time", title: "Current time", description: "Tell the current date and time in a time zone.",
		tags: []string{"time", "zones"}, props: props{"zone": {def: "UTC"}}, examples: []map[string]any{{"zone": "Asia/Tokyo"}},
	}, s.currentTime)
	add(s, category, tool{
		name: "convert_time_zone", title: "Convert between time zones", description: "Convert a date and time from one time zone to another.",
		tags: []string{"time", "zones"}, props: props{"from": {def: "UTC"}},
		examples: []map[string]any{{"time": "2026-03-01 09:00", "from": "America/New_York", "to": "Europe/Berlin"}},
	}, convertTimeZone)
	add(s, category, tool{
		name: "time_between", title: "Time between", description: "Compute how much time lies between two dates or times.",
		tags: []string{"time", "calendar"}, props: props{"unit": {enum: []string{"seconds", "minutes", "hours", "days", "weeks"}, def: "days"}},
		examples: []map[string]any{{"from": "2026-01-01", "to": "2026-12-25", "unit": "days"}},
	}, timeBetween)
}

func instant(t time.Time) instantOut {
	return instantOut{
		Time: t.Format(time.RFC3339), Zone: t.Location().String(), Offset: t.Format("-07:00"),
		Weekday: t.Weekday().String(), Unix: t.Unix(),
	}
}

func zone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: unknown; want an IANA name such as Europe/Berlin", name)
	}
	return loc, nil
}

// moment reads a date or time; zoneName is of times without an offset, ""
// means UTC.
func moment(text, zoneName string) (time.Time, error) {
	loc, err := zone(zoneName)
	if err != nil {
		return time.Time{}, err
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, loc); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: want RFC 3339, YYYY-MM-DD HH:MM or YYYY-MM-DD", text)
}

func (s *Server) currentTime(_ context.Context, in zoneIn) (instantOut, error) {
	loc, err := zone(in.Zone)
	if err != nil {
		return instantOut{}, err
	}
	return instant(s.now().In(loc)), nil
}

func convertTimeZone(_ context.Context, in convertZoneIn) (instantOut, error) {
	t, err := moment(in.Time, in.From)
	if err != nil {
		return instantOut{}, err
	}
	to, err := zone(in.To)
	if err != nil {
		return instantOut{}, err
	}
	return instant(t.In(to)), nil
}

func timeBetween(_ context.Context, in timeBetweenIn) (timeBetweenOut, error) {
	from, err := moment(in.From, "")
	if err != nil {
		return timeBetweenOut{}, err
	}
	to, err := moment(in.To, "")
	if err != nil {
		return timeBetweenOut{}, err
	}
	seconds := map[string]float64{"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 7 * 86400}[in.Unit]
	return timeBetweenOut{Value: to.Sub(from).Seconds() / seconds, Unit: in.Unit}, nil
}
