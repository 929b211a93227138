package spaces

// Status describes the vectors of one identity.
type Status struct {
	Model   string `json:"model"`
	Role    string `json:"role"` // "serving", "filling" or "fallback"
	Dims    int    `json:"dims"`
	Vectors int    `json:"vectors"` // documents that have one
	Wanted  int    `json:"wanted"`
	// PhraseVectors are how many of Phrases, those that count, have a vector,
	// and with it a part in that of their tools.
	PhraseVectors int     `json:"phraseVectors,omitempty"`
	Phrases       int     `json:"phrases,omitempty"`
	Rate          float64 `json:"rate,omitempty"`  // texts per second while filling
	Error         string  `json:"error,omitempty"` // last failure, cleared by success
	Graph         string  `json:"graph"`           // "scan", "building", "ready"
	Recall        float64 `json:"recall,omitempty"`
	CacheHit      int64   `json:"cacheHits"` // vectors found in the store instead of embedded
	CacheAll      int64   `json:"cacheLookups"`
}
