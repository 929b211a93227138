package labels

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// ReadDump reads tools as tools/list answers them: a file {"tools":[…]}, also
// inside a JSON-RPC reply's "result", whose server is named by the file, or a
// folder of such files.
func ReadDump(path string) ([]index.Tool, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	files := []string{path}
	if st.IsDir() {
		files, _ = filepath.Glob(filepath.Join(globEscape(path), "*.json"))
		slices.Sort(files)
		if len(files) == 0 {
			return nil, fmt.Errorf("read tools %s: no .json file in it", path)
		}
	}
	var tools []index.Tool
	for _, f := range files {
		one, err := readDumpFile(f)
		if err != nil {
			return nil, err
		}
		tools = append(tools, one...)
	}
	return tools, nil
}

func readDumpFile(path string) ([]index.Tool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	list, err := dumpList(data)
	if err != nil {
		return nil, fmt.Errorf("read tools %s: %w", path, err)
	}
	server := strings.TrimSuffix(filepath.Base(path), ".json")
	var tools []index.Tool
	for i, raw := range list {
		t, err := index.Decode(server, raw)
		if err != nil {
			return nil, fmt.Errorf("read tools %s: tools[%d]: %w", path, i, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func dumpList(data []byte) ([]json.RawMessage, error) {
	var page struct {
		Tools  *[]json.RawMessage `json:"tools"`
		Result *struct {
			Tools *[]json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, fmt.Errorf("want {\"tools\":[…]}: %w", err)
	}
	if page.Tools == nil && page.Result != nil {
		page.Tools = page.Result.Tools
	}
	if page.Tools == nil {
		return nil, fmt.Errorf("field \"tools\": missing; want {\"tools\":[…]} as tools/list answers")
	}
	return *page.Tools, nil
}
