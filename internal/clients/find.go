package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
)

// Here is this machine with the working folder as the project. What it does
// not tell, the home folder or the working one, is "".
func Here() System {
	home, _ := os.UserHomeDir()
	dir, _ := os.Getwd()
	return System{OS: runtime.GOOS, Home: home, Dir: dir, Getenv: os.Getenv}
}

// A Search says whose servers to find. The zero value finds a person's own, of
// every client.
type Search struct {
	Clients []string // only these, by their short names
	From    []string // these files instead of those of the clients
	Project bool     // also the files that a project keeps in Dir
}

// Find reads the files that q names. What cannot be read is a problem of that
// file alone; a client that has none is no problem.
func (s System) Find(q Search) (found []Found, problems []error) {
	if s.Home == "" && len(q.From) == 0 {
		// A path without it would be one of the working folder.
		return nil, []error{errors.New("the home folder is not known")}
	}
	for _, l := range s.places(q) {
		servers, err := s.Read(l)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(q.From) == 0:
		case err != nil:
			problems = append(problems, err)
		case len(servers) > 0:
			found = append(found, Found{Location: l, Servers: servers})
		case len(q.From) > 0:
			problems = append(problems, fmt.Errorf("%s: it has no servers", l.Path))
		}
	}
	return found, problems
}

// places are the files to read.
func (s System) places(q Search) []Location {
	var out []Location
	for _, path := range q.From {
		l := Location{Path: path}
		if len(q.Clients) == 1 {
			l.Client = q.Clients[0] // whose format it has
		}
		out = append(out, l)
	}
	if len(q.From) > 0 {
		return out
	}
	out = s.Files()
	if q.Project {
		out = append(out, s.ProjectFiles()...)
	}
	return slices.DeleteFunc(out, func(l Location) bool {
		return len(q.Clients) > 0 && !slices.Contains(q.Clients, l.Client)
	})
}
