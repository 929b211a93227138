package mcp

import (
	"encoding/json"
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
		spec Spec
		want []string
	}{
		{"usual", Spec{}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p"}},
		{"named", Spec{InheritEnv: []string{"AWS_SECRET_ACCESS_KEY", "NOT_SET"}}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "AWS_SECRET_ACCESS_KEY=s"}},
		{"all among names is a name", Spec{InheritEnv: []string{"all", "LCD"}}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "LCD=1", "all=1"}},
		{"all", Spec{InheritEnv: []string{"all"}}, []string{"HOME=/h", "PATH=/bin", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "AWS_SECRET_ACCESS_KEY=s", "LCD=1", "home=/other", "all=1"}},
		{"own", Spec{Env: map[string]string{"PATH": "/mine"}, InheritEnv: []string{"PATH"}}, []string{"HOME=/h", "LC_ALL=C", "XDG_DATA_HOME=/x", "https_proxy=p", "PATH=/mine"}},
	} {
		if got := c.spec.environ(ours); !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestServerSeesItsEnvironmentOnly(t *testing.T) {
	t.Setenv("TOOLDEX_TEST_OTHERS_SECRET", "x")
	t.Setenv("TOOLDEX_TEST_WANTED", "y")
	sp := stdioSpec(t, &rawServer{Version: stateless})
	sp.InheritEnv = []string{"TOOLDEX_TEST_WANTED"}
	s := start(t, Options{}, sp)
	var got struct{ StructuredContent []string }
	if err := json.Unmarshal(mustCall(t, s, "raw", "environ").Raw, &got); err != nil {
		t.Fatal(err)
	}
	env := got.StructuredContent
	if slices.Contains(env, "TOOLDEX_TEST_OTHERS_SECRET=x") || !slices.Contains(env, "TOOLDEX_TEST_WANTED=y") {
		t.Errorf("the server sees %q", env)
	}
}
