package stdio

import (
	"runtime"
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("names of other systems")
	}
	ours := []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "AWS_SECRET_ACCESS_KEY=s", "LCD=1", "ODD", "home=/other", "all=1"}
	for _, c := range []struct {
		name string
		cmd  Command
		want []string
	}{
		{"usual", Command{}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p"}},
		{"named", Command{Inherit: []string{"AWS_SECRET_ACCESS_KEY", "NOT_SET"}}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "AWS_SECRET_ACCESS_KEY=s"}},
		{"all among names is a name", Command{Inherit: []string{"all", "LCD"}}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "LCD=1", "all=1"}},
		{"all", Command{Inherit: []string{"all"}}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "AWS_SECRET_ACCESS_KEY=s", "LCD=1", "home=/other", "all=1"}},
		{"own", Command{Env: map[string]string{"PATH": "/mine"}, Inherit: []string{"PATH"}}, []string{"HOME=/h", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "PATH=/mine"}},
	} {
		if got := c.cmd.environ(ours); !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}
