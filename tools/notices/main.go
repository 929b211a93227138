// Command notices says what is linked into a Go binary: the licence texts of
// its modules in one file, and a bill of materials in CycloneDX's form.
//
//	notices [-licenses FILE] [-sbom FILE] [-version VERSION] BINARY...
//
// Of several binaries, those for several systems, it takes what any has. It
// runs in the folder of the module that they were built from, and fails when a
// module has no licence text or one that is not on the list.
package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// allowed are the licences that ask for no more than their text and that may
// be combined with Apache 2.0. The last is that of the MCP SDK's
// documentation, which its file names beside those of the code.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "CC-BY-4.0"}

// enough is how much of a licence file's words must be those of a licence, in
// per cent: the rest is who holds the rights.
const enough = 75

func main() {
	log.SetFlags(0)
	log.SetPrefix("notices: ")
	texts := flag.String("licenses", "", "`file` for the licence texts")
	sbom := flag.String("sbom", "", "`file` for the bill of materials")
	version := flag.String("version", "", "`version` of the binary, where it is not in it")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("name a binary")
	}
	if err := run(flag.Args(), *texts, *sbom, *version); err != nil {
		log.Fatal(err)
	}
}

func run(binaries []string, texts, sbom, version string) error {
	info, err := read(binaries)
	if err != nil {
		return err
	}
	info.Main.Version = cmp.Or(version, info.Main.Version)
	linked, err := modules(info)
	if err != nil {
		return err
	}
	if texts != "" {
		if err := os.WriteFile(texts, licences(linked), 0o644); err != nil {
			return err
		}
	}
	if sbom == "" {
		return nil
	}
	b, err := bill(info, linked)
	if err != nil {
		return err
	}
	return os.WriteFile(sbom, b, 0o644)
}

// read tells what the binaries were built from.
func read(binaries []string) (*debug.BuildInfo, error) {
	var all *debug.BuildInfo
	for _, b := range binaries {
		info, err := buildinfo.ReadFile(b)
		if err != nil {
			return nil, fmt.Errorf("read what %s was built from: %w", b, err)
		}
		if all == nil {
			all = info
			continue
		}
		all.Deps = append(all.Deps, info.Deps...)
	}
	slices.SortFunc(all.Deps, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	all.Deps = slices.CompactFunc(all.Deps, func(a, b *debug.Module) bool { return a.Path == b.Path })
	return all, nil
}

// A module is one that is linked, with the texts of its licences.
type module struct {
	Path, Version, Sum string
	Kinds              []string // SPDX identifiers, sorted
	Texts              []string
}

// modules are those that were linked, the standard library first.
func modules(info *debug.BuildInfo) ([]module, error) {
	std := module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	if err := std.read(strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	all := []module{std}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		dir, err := folder(dep)
		if err != nil {
			return nil, err
		}
		m := module{Path: dep.Path, Version: dep.Version, Sum: dep.Sum}
		if err := m.read(dir); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// folder is where a module's files are, fetched if they are not there.
func folder(m *debug.Module) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", m.Path+"@"+m.Version).Output()
	if err != nil {
		return "", fmt.Errorf("fetch %s@%s: %w", m.Path, m.Version, err)
	}
	var got struct{ Dir string }
	if err := json.Unmarshal(out, &got); err != nil {
		return "", fmt.Errorf("fetch %s@%s: %w", m.Path, m.Version, err)
	}
	return got.Dir, nil
}

// read finds the licence texts of m in its folder and says which they are.
func (m *module) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !isLicence(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.Texts = append(m.Texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		if name := strings.ToUpper(e.Name()); strings.HasPrefix(name, "NOTICE") || strings.HasPrefix(name, "PATENTS") {
			continue // goes with a licence and is none
		}
		found := licensecheck.Scan(text)
		if found.Percent < enough {
			return fmt.Errorf("%s@%s: %s is no licence that is known (%.0f %% of it is); read it, and say here what it is", m.Path, m.Version, e.Name(), found.Percent)
		}
		for _, match := range found.Match {
			m.Kinds = append(m.Kinds, match.ID)
		}
	}
	slices.Sort(m.Kinds)
	m.Kinds = slices.Compact(m.Kinds)
	if len(m.Kinds) == 0 {
		return fmt.Errorf("%s@%s has no licence text in %s", m.Path, m.Version, dir)
	}
	for _, kind := range m.Kinds {
		if !slices.Contains(allowed, kind) {
			return fmt.Errorf("%s@%s is under %s, which is not on the list of those that may be linked", m.Path, m.Version, kind)
		}
	}
	return nil
}

func isLicence(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, func(p string) bool {
		return name == p || strings.HasPrefix(name, p+".") || strings.HasPrefix(name, p+"-")
	}) && !strings.HasSuffix(name, ".GO")
}

// licences are the texts of all modules, one after the other.
func licences(linked []module) []byte {
	var b bytes.Buffer
	b.WriteString("tooldex is under the Apache License 2.0 (file LICENSE). What is linked into it is listed here,\neach with its own licence.\n")
	for _, m := range linked {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n%[1]s\n", strings.Repeat("=", 80), m.Path, m.Version, strings.Join(m.Kinds, ", "))
		for _, text := range m.Texts {
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	return b.Bytes()
}

// bill is the bill of materials. It has no time and no random number in it, so
// that a build can be repeated.
func bill(info *debug.BuildInfo, linked []module) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.SerialNumber = ""
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: info.Main.Path, Type: cdx.ComponentTypeApplication, Name: info.Main.Path, Version: info.Main.Version,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}}
	var all []cdx.Component
	for _, m := range linked {
		c := cdx.Component{
			BOMRef: m.Path, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path + "@" + m.Version,
		}
		if m.Sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}
		}
		var of cdx.Licenses
		for _, kind := range m.Kinds {
			of = append(of, cdx.LicenseChoice{License: &cdx.License{ID: kind}})
		}
		c.Licenses = &of
		all = append(all, c)
	}
	bom.Components = &all
	var b bytes.Buffer
	e := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON)
	e.SetPretty(true)
	err := e.Encode(bom)
	return b.Bytes(), err
}
