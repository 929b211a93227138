package sample

import (
	"context"
	"fmt"
	"math"
	"strings"
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

type amount struct {
	Years   int `json:"years,omitempty"`
	Months  int `json:"months,omitempty"`
	Weeks   int `json:"weeks,omitempty"`
	Days    int `json:"days,omitempty"`
	Hours   int `json:"hours,omitempty"`
	Minutes int `json:"minutes,omitempty"`
}

type addToDateIn struct {
	Time   string `json:"time" jsonschema:"date or date and time to start from"`
	Amount amount `json:"amount" jsonschema:"what to add; negative values subtract"`
	Zone   string `json:"zone,omitempty" jsonschema:"IANA time zone of a time without offset"`
}

type timeBetweenIn struct {
	From string `json:"from" jsonschema:"date or date and time"`
	To   string `json:"to" jsonschema:"date or date and time"`
	Unit string `json:"unit,omitempty" jsonschema:"unit of the result"`
}

type timeBetweenOut struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Text  string  `json:"text" jsonschema:"the difference in words"`
}

type listZonesIn struct {
	Filter string `json:"filter,omitempty" jsonschema:"part of the zone's name, such as america or tokyo"`
}

type zoneRow struct {
	Zone   string `json:"zone"`
	Offset string `json:"offset"`
	Time   string `json:"time" jsonschema:"the time there"`
}

type listZonesOut struct {
	Zones []zoneRow `json:"zones"`
}

type dateIn struct {
	Date string `json:"date" jsonschema:"date as YYYY-MM-DD"`
}

type describeDateOut struct {
	Weekday     string `json:"weekday"`
	ISOWeek     string `json:"iso_week"`
	DayOfYear   int    `json:"day_of_year"`
	Quarter     int    `json:"quarter"`
	LeapYear    bool   `json:"leap_year"`
	DaysInMonth int    `json:"days_in_month"`
}

type businessDaysIn struct {
	From     string   `json:"from" jsonschema:"first day, YYYY-MM-DD"`
	To       string   `json:"to" jsonschema:"last day, YYYY-MM-DD"`
	Holidays []string `json:"holidays,omitempty" jsonschema:"further days off, YYYY-MM-DD"`
}

type businessDaysOut struct {
	BusinessDays int `json:"business_days"`
	CalendarDays int `json:"calendar_days"`
}

func (s *Server) addTime() {
	const category = "Date and Time"
	add(s, category, tool{
		name: "current_time", title: "Current time", description: "Tell the current date and time in a time zone.",
		tags: []string{"time", "zones"}, props: props{"zone": {def: "UTC", example: "Asia/Tokyo"}}, examples: []map[string]any{{"zone": "Asia/Tokyo"}},
	}, s.currentTime)
	add(s, category, tool{
		name: "convert_time_zone", title: "Convert between time zones", description: "Convert a date and time from one time zone to another.",
		tags: []string{"time", "zones"}, props: props{"from": {def: "UTC"}},
		examples: []map[string]any{{"time": "2026-03-01 09:00", "from": "America/New_York", "to": "Europe/Berlin"}},
	}, convertTimeZone)
	add(s, category, tool{
		name: "add_to_date", title: "Add to a date", description: "Add years, months, weeks, days, hours or minutes to a date, or subtract them.",
		tags: []string{"time", "calendar"}, props: props{"zone": {def: "UTC"}},
		examples: []map[string]any{{"time": "2026-01-31", "amount": map[string]any{"months": 1}}},
	}, addToDate)
	add(s, category, tool{
		name: "time_between", title: "Time between", description: "Compute how much time lies between two dates or times.",
		tags: []string{"time", "calendar"}, props: props{"unit": {enum: []string{"seconds", "minutes", "hours", "days", "weeks"}, def: "days"}},
		examples: []map[string]any{{"from": "2026-01-01", "to": "2026-12-25", "unit": "days"}},
	}, timeBetween)
	add(s, category, tool{
		name: "list_time_zones", title: "List time zones", description: "List widely used time zones with their present offset and time.",
		tags: []string{"time", "zones"}, examples: []map[string]any{{"filter": "america"}},
	}, s.listTimeZones)
	add(s, category, tool{
		name: "describe_date", title: "Describe a date", description: "Tell the weekday, ISO week, day of the year and quarter of a date.",
		tags: []string{"time", "calendar"}, examples: []map[string]any{{"date": "2026-02-28"}},
	}, describeDate)
	add(s, category, tool{
		name: "count_business_days", title: "Count business days", description: "Count the working days, Monday to Friday without holidays, from one date to another.",
		tags: []string{"time", "calendar"}, examples: []map[string]any{{"from": "2026-12-21", "to": "2026-12-31", "holidays": []string{"2026-12-25"}}},
	}, businessDays)
}

func instant(t time.Time) instantOut {
	return instantOut{
		Time: t.Format(time.RFC3339), Zone: t.Location().String(), Offset: t.Format("-07:00"),
		Weekday: t.Weekday().String(), Unix: t.Unix(),
	}
}

func zone(name string) (*time.Location, error) {
	if name == "" {
		name = "UTC"
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: unknown; list_time_zones names some", name)
	}
	return loc, nil
}

// moment reads a date or time; zoneName is of times without an offset.
func moment(text, zoneName string) (time.Time, error) {
	loc, err := zone(zoneName)
	if err != nil {
		return time.Time{}, err
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
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

func addToDate(_ context.Context, in addToDateIn) (instantOut, error) {
	t, err := moment(in.Time, in.Zone)
	if err != nil {
		return instantOut{}, err
	}
	a := in.Amount
	// The last day of the shorter month, not a day of the next one: a month
	// after 31 January is 28 February.
	first := time.Date(t.Year()+a.Years, t.Month()+time.Month(a.Months), 1, 0, 0, 0, 0, t.Location())
	day := min(t.Day(), daysIn(first))
	t = time.Date(first.Year(), first.Month(), day+7*a.Weeks+a.Days, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	t = t.Add(time.Duration(a.Hours)*time.Hour + time.Duration(a.Minutes)*time.Minute)
	return instant(t), nil
}

func daysIn(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
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
	d := to.Sub(from)
	return timeBetweenOut{Value: d.Seconds() / seconds, Unit: in.Unit, Text: inWords(d)}, nil
}

func inWords(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "minus ", -d
	}
	days := int(d / (24 * time.Hour))
	rest := (d % (24 * time.Hour)).Round(time.Second)
	switch {
	case days == 0:
		return sign + rest.String()
	case rest == 0:
		return fmt.Sprintf("%s%d days", sign, days)
	}
	return fmt.Sprintf("%s%d days %s", sign, days, rest)
}

// commonZones are zones people ask for; Go offers no list of all.
var commonZones = strings.Fields(`
	Africa/Cairo Africa/Johannesburg Africa/Lagos Africa/Nairobi
	America/Anchorage America/Argentina/Buenos_Aires America/Bogota America/Chicago America/Denver America/Halifax
	America/Lima America/Los_Angeles America/Mexico_City America/New_York America/Phoenix America/Santiago
	America/Sao_Paulo America/St_Johns America/Toronto America/Vancouver
	Asia/Bangkok Asia/Dhaka Asia/Dubai Asia/Hong_Kong Asia/Jakarta Asia/Jerusalem Asia/Karachi Asia/Kathmandu
	Asia/Kolkata Asia/Manila Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei Asia/Tehran Asia/Tokyo
	Atlantic/Azores Atlantic/Reykjavik Australia/Adelaide Australia/Brisbane Australia/Perth Australia/Sydney
	Europe/Amsterdam Europe/Athens Europe/Berlin Europe/Brussels Europe/Dublin Europe/Helsinki Europe/Istanbul
	Europe/Kyiv Europe/Lisbon Europe/London Europe/Madrid Europe/Moscow Europe/Oslo Europe/Paris Europe/Prague
	Europe/Rome Europe/Stockholm Europe/Vienna Europe/Warsaw Europe/Zurich
	Pacific/Auckland Pacific/Honolulu UTC`)

func (s *Server) listTimeZones(_ context.Context, in listZonesIn) (listZonesOut, error) {
	out := listZonesOut{Zones: []zoneRow{}}
	for _, name := range commonZones {
		plain := strings.ReplaceAll(name, "_", " ")
		if !strings.Contains(strings.ToLower(name+" "+plain), strings.ToLower(in.Filter)) {
			continue
		}
		loc, err := zone(name)
		if err != nil {
			return out, err
		}
		t := s.now().In(loc)
		out.Zones = append(out.Zones, zoneRow{Zone: name, Offset: t.Format("-07:00"), Time: t.Format("2006-01-02 15:04")})
	}
	return out, nil
}

func day(text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, fmt.Errorf("date %q: want YYYY-MM-DD", text)
	}
	return t, nil
}

func describeDate(_ context.Context, in dateIn) (describeDateOut, error) {
	t, err := day(in.Date)
	if err != nil {
		return describeDateOut{}, err
	}
	year, week := t.ISOWeek()
	return describeDateOut{
		Weekday: t.Weekday().String(), ISOWeek: fmt.Sprintf("%d-W%02d", year, week), DayOfYear: t.YearDay(),
		Quarter: (int(t.Month()) + 2) / 3, DaysInMonth: daysIn(t),
		LeapYear: time.Date(t.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay() == 366,
	}, nil
}

func businessDays(_ context.Context, in businessDaysIn) (businessDaysOut, error) {
	from, err := day(in.From)
	if err != nil {
		return businessDaysOut{}, err
	}
	to, err := day(in.To)
	if err != nil {
		return businessDaysOut{}, err
	}
	days := int(math.Round(to.Sub(from).Hours()/24)) + 1
	if days < 1 || days > 40_000 {
		return businessDaysOut{}, fmt.Errorf("from %s to %s: want 1 to 40000 days", in.From, in.To)
	}
	off := map[time.Time]bool{}
	for _, h := range in.Holidays {
		t, err := day(h)
		if err != nil {
			return businessDaysOut{}, fmt.Errorf("holidays: %w", err)
		}
		off[t] = true
	}
	out := businessDaysOut{CalendarDays: days}
	for t := from; !t.After(to); t = t.AddDate(0, 0, 1) {
		if w := t.Weekday(); w != time.Saturday && w != time.Sunday && !off[t] {
			out.BusinessDays++
		}
	}
	return out, nil
}
