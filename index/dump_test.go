package index

// A dump is what Dump writes, as a reader of it has it.
type dump struct {
	Generation uint64             `json:"generation"`
	Params     Params             `json:"params"`
	N          int                `json:"n"`
	AvgLen     map[string]float64 `json:"avglen"`
	DF         map[string]uint32  `json:"df"` // after the cap on one server's share
	Tools      []dumpedTool       `json:"tools"`
}

type dumpedTool struct {
	ID       string                    `json:"id"`
	Tool     string                    `json:"tool"` // qualified name
	Category string                    `json:"category"`
	Lengths  map[string]uint32         `json:"lengths"`
	Terms    map[string]map[string]int `json:"terms"` // by field, by term
}
