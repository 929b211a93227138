package sample

import (
	"fmt"
	"os"
	"path/filepath"
)

var seeds = map[string]string{
	"notes.txt":          "Shopping: bread, milk, coffee\nTODO: call the plumber before Friday\nIdea: sort the photos by year\n",
	"sales.csv":          "month,city,units,revenue\n2026-01,Oslo,12,1140.50\n2026-01,Rome,30,2790.00\n2026-02,Oslo,17,1615.00\n2026-02,Rome,22,2046.25\n",
	"reports/2025.md":    "# Year 2025\n\nRevenue grew by 8 % to 91,400.\n",
	"reports/2026-q1.md": "# First quarter 2026\n\nTODO: add March.\n",
	"config/app.json":    "{\n  \"name\": \"shop\",\n  \"retries\": 3,\n  \"features\": {\"search\": true}\n}\n",
}

// Seed writes some small files into dir, for the files group to work on.
// Files that exist already are left alone.
func Seed(dir string) error {
	for name, text := range seeds {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return fmt.Errorf("seed sample folder: %w", err)
		}
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if os.IsExist(err) {
			continue
		}
		if err == nil {
			_, err = f.WriteString(text)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
		if err != nil {
			return fmt.Errorf("seed sample folder: %w", err)
		}
	}
	return nil
}
