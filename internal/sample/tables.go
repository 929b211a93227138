package sample

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// row is one row of a table: values by column.
type row = map[string]any

type csvToJSONIn struct {
	CSV       string `json:"csv" jsonschema:"the CSV text; its first line names the columns"`
	Delimiter string `json:"delimiter,omitempty" jsonschema:"what separates the fields"`
	Typed     bool   `json:"typed,omitempty" jsonschema:"turn numbers, true, false and empty fields into JSON values"`
}

type rowsOut struct {
	Rows []row `json:"rows"`
}

type jsonToCSVIn struct {
	Rows    []row    `json:"rows" jsonschema:"the rows, one object each"`
	Columns []string `json:"columns,omitempty" jsonschema:"columns in the wanted order; all, sorted, when absent"`
}

type csvOut struct {
	CSV string `json:"csv"`
}

type condition struct {
	Column string `json:"column" jsonschema:"name of the column"`
	Op     string `json:"op" jsonschema:"how to compare"`
	Value  any    `json:"value" jsonschema:"what to compare with"`
}

type ordering struct {
	Column     string `json:"column" jsonschema:"name of the column"`
	Descending bool   `json:"descending,omitempty" jsonschema:"largest first"`
}

type queryTableIn struct {
	Rows    []row       `json:"rows" jsonschema:"the rows, one object each"`
	Where   []condition `json:"where,omitempty" jsonschema:"conditions that must all hold"`
	OrderBy []ordering  `json:"order_by,omitempty" jsonschema:"columns to sort by, the most important first"`
	Columns []string    `json:"columns,omitempty" jsonschema:"columns to return; all when absent"`
	Limit   int         `json:"limit,omitempty" jsonschema:"most rows to return"`
}

type measure struct {
	Function string `json:"function" jsonschema:"what to compute"`
	Column   string `json:"column,omitempty" jsonschema:"column to compute it of; not needed for count"`
	As       string `json:"as,omitempty" jsonschema:"name of the result's column"`
}

type aggregateIn struct {
	Rows     []row     `json:"rows" jsonschema:"the rows, one object each"`
	GroupBy  []string  `json:"group_by,omitempty" jsonschema:"columns whose equal values form a group; one group of all rows when absent"`
	Measures []measure `json:"measures" jsonschema:"what to compute for each group"`
}

type joinOn struct {
	Left  string `json:"left" jsonschema:"column of the left table"`
	Right string `json:"right" jsonschema:"column of the right table"`
}

type joinIn struct {
	Left  []row  `json:"left" jsonschema:"rows of the left table"`
	Right []row  `json:"right" jsonschema:"rows of the right table"`
	On    joinOn `json:"on" jsonschema:"the columns that must be equal"`
	Kind  string `json:"kind,omitempty" jsonschema:"inner keeps matching rows only, left keeps every left row"`
}

type markdownIn struct {
	Rows    []row    `json:"rows" jsonschema:"the rows, one object each"`
	Columns []string `json:"columns,omitempty" jsonschema:"columns in the wanted order; all, sorted, when absent"`
}

type markdownOut struct {
	Markdown string `json:"markdown"`
}

// scalars are the JSON types of a table's cell.
var scalars = []string{"string", "number", "boolean", "null"}

func (s *Server) addTables() {
	const category = "Data Processing"
	rows := []map[string]any{{"city": "Oslo", "sales": 3}, {"city": "Rome", "sales": 5}}
	add(s, category, tool{
		name: "csv_to_json", title: "CSV to JSON", description: "Convert CSV text to a list of JSON objects, one a row.",
		tags: []string{"tables", "csv", "json"}, props: props{"delimiter": {def: ",", enum: []string{",", ";", "\t", "|"}}},
		examples: []map[string]any{{"csv": "city,sales\nOslo,3\n", "typed": true}},
	}, csvToJSON)
	add(s, category, tool{
		name: "json_to_csv", title: "JSON to CSV", description: "Convert a list of JSON objects to CSV text for a spreadsheet.",
		tags: []string{"tables", "csv", "json"}, examples: []map[string]any{{"rows": rows, "columns": []string{"city", "sales"}}},
	}, jsonToCSV)
	add(s, category, tool{
		name: "query_table", title: "Query a table", description: "Filter, sort and limit the rows of a table and choose its columns.",
		tags: []string{"tables", "query"},
		props: props{
			"where[].op": {enum: []string{"=", "!=", "<", "<=", ">", ">=", "contains"}}, "where[].value": {types: scalars},
			"limit": {min: num(1), max: num(10000), def: 1000},
		},
		examples: []map[string]any{{"rows": rows, "where": []map[string]any{{"column": "sales", "op": ">", "value": 3}}}},
	}, queryTable)
	add(s, category, tool{
		name: "aggregate_table", title: "Aggregate a table", description: "Group the rows of a table and compute count, sum, average, minimum or maximum of each group, like a pivot table.",
		tags: []string{"tables", "statistics"}, props: props{"measures[].function": {enum: []string{"count", "sum", "avg", "min", "max"}}},
		examples: []map[string]any{{"rows": rows, "group_by": []string{"city"}, "measures": []map[string]any{{"function": "sum", "column": "sales"}}}},
	}, aggregateTable)
	add(s, category, tool{
		name: "join_tables", title: "Join two tables", description: "Join two tables on a column that they have in common.",
		tags: []string{"tables", "query"}, props: props{"kind": {enum: []string{"inner", "left"}, def: "inner"}},
		examples: []map[string]any{{"left": rows, "right": []map[string]any{{"name": "Oslo", "country": "NO"}}, "on": map[string]any{"left": "city", "right": "name"}}},
	}, joinTables)
	add(s, category, tool{
		name: "table_to_markdown", title: "Table as Markdown", description: "Format the rows of a table as a Markdown table.",
		tags: []string{"tables", "format"}, examples: []map[string]any{{"rows": rows}},
	}, tableToMarkdown)
	s.addJSON(category)
}

func csvToJSON(_ context.Context, in csvToJSONIn) (rowsOut, error) {
	r := csv.NewReader(strings.NewReader(in.CSV))
	r.Comma = rune(in.Delimiter[0])
	records, err := r.ReadAll()
	if err != nil {
		return rowsOut{}, fmt.Errorf("read csv: %w", err)
	}
	if len(records) == 0 {
		return rowsOut{}, fmt.Errorf("read csv: no first line with the names of columns")
	}
	out := rowsOut{Rows: []row{}}
	for _, record := range records[1:] {
		values := row{}
		for i, name := range records[0] {
			values[name] = cell(record[i], in.Typed)
		}
		out.Rows = append(out.Rows, values)
	}
	return out, nil
}

// cell reads one CSV field.
func cell(text string, typed bool) any {
	if !typed {
		return text
	}
	switch text {
	case "":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
		return v
	}
	return text
}

// columnsOf are the wanted columns, or all of rows, sorted.
func columnsOf(rows []row, wanted []string) []string {
	if len(wanted) > 0 {
		return wanted
	}
	var all []string
	for _, r := range rows {
		for name := range r {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	sort.Strings(all)
	return all
}

// show writes a cell as text.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func cells(r row, columns []string) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = show(r[c])
	}
	return out
}

func jsonToCSV(_ context.Context, in jsonToCSVIn) (csvOut, error) {
	columns := columnsOf(in.Rows, in.Columns)
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(columns) // errors are kept until Flush
	for _, r := range in.Rows {
		w.Write(cells(r, columns))
	}
	w.Flush()
	return csvOut{b.String()}, w.Error()
}

func tableToMarkdown(_ context.Context, in markdownIn) (markdownOut, error) {
	columns := columnsOf(in.Rows, in.Columns)
	var b strings.Builder
	line := func(cells []string) {
		for i := range cells {
			cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(cells[i])
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(slices.Clone(columns))
	line(slices.Repeat([]string{"---"}, len(columns)))
	for _, r := range in.Rows {
		line(cells(r, columns))
	}
	return markdownOut{b.String()}, nil
}

// compare orders cells: nothing, false, true, numbers, texts, the rest.
func compare(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	if x, ok := a.(float64); ok {
		return cmp.Compare(x, b.(float64))
	}
	return strings.Compare(show(a), show(b))
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case float64:
		return 2
	case string:
		return 3
	}
	return 4
}

func (c condition) holds(r row) bool {
	v := r[c.Column]
	order := compare(v, c.Value)
	switch c.Op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "contains":
		return strings.Contains(strings.ToLower(show(v)), strings.ToLower(show(c.Value)))
	}
	if rank(v) != rank(c.Value) {
		return false // a text is neither above nor below a number
	}
	switch c.Op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func queryTable(_ context.Context, in queryTableIn) (rowsOut, error) {
	rows := slices.DeleteFunc(slices.Clone(in.Rows), func(r row) bool {
		return slices.ContainsFunc(in.Where, func(c condition) bool { return !c.holds(r) })
	})
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, o := range in.OrderBy {
			c := compare(a[o.Column], b[o.Column])
			if o.Descending {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	out := rowsOut{Rows: []row{}}
	for _, r := range rows[:min(in.Limit, len(rows))] {
		out.Rows = append(out.Rows, pick(r, in.Columns))
	}
	return out, nil
}

func pick(r row, columns []string) row {
	if len(columns) == 0 {
		return r
	}
	out := row{}
	for _, c := range columns {
		out[c] = r[c]
	}
	return out
}

func aggregateTable(_ context.Context, in aggregateIn) (rowsOut, error) {
	var order []string
	groups := map[string][]row{}
	for _, r := range in.Rows {
		key := string(mustJSON(cells(r, in.GroupBy)))
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	out := rowsOut{Rows: []row{}}
	for _, key := range order {
		result := row{}
		for _, c := range in.GroupBy {
			result[c] = groups[key][0][c]
		}
		for _, m := range in.Measures {
			v, err := m.of(groups[key])
			if err != nil {
				return rowsOut{}, err
			}
			result[m.name()] = v
		}
		out.Rows = append(out.Rows, result)
	}
	return out, nil
}

func (m measure) name() string {
	switch {
	case m.As != "":
		return m.As
	case m.Column == "":
		return m.Function
	}
	return m.Function + "_" + m.Column
}

// of computes the measure over rows; cells that are no numbers do not count.
func (m measure) of(rows []row) (any, error) {
	if m.Column == "" {
		if m.Function == "count" {
			return len(rows), nil
		}
		return nil, fmt.Errorf("measure %s: needs a column", m.Function)
	}
	if m.Function == "count" {
		n := 0
		for _, r := range rows {
			if r[m.Column] != nil {
				n++
			}
		}
		return n, nil
	}
	var values []float64
	for _, r := range rows {
		if v, ok := r[m.Column].(float64); ok {
			values = append(values, v)
		}
	}
	return m.compute(values), nil
}

func (m measure) compute(values []float64) any {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	switch m.Function {
	case "sum":
		return sum
	case "avg":
		return sum / float64(len(values))
	case "min":
		return slices.Min(values)
	}
	return slices.Max(values)
}

func joinTables(_ context.Context, in joinIn) (rowsOut, error) {
	byKey := map[string][]row{}
	for _, r := range in.Right {
		key := show(r[in.On.Right])
		byKey[key] = append(byKey[key], r)
	}
	out := rowsOut{Rows: []row{}}
	for _, l := range in.Left {
		matches := byKey[show(l[in.On.Left])]
		if len(matches) == 0 && in.Kind == "left" {
			matches = []row{{}}
		}
		for _, r := range matches {
			out.Rows = append(out.Rows, joined(l, r, in.On.Right))
		}
	}
	return out, nil
}

// joined is l with the columns of r; a column of both gets the prefix right_.
func joined(l, r row, key string) row {
	out := row{}
	for c, v := range r {
		if c == key {
			continue
		}
		if _, taken := l[c]; taken {
			c = "right_" + c
		}
		out[c] = v
	}
	for c, v := range l {
		out[c] = v
	}
	return out
}
