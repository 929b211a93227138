package mcp

// An Era is what is known of the protocol that a server speaks.
type Era struct {
	Transport string `json:"transport"`         // the one that worked, "" if none did
	Version   string `json:"version,omitempty"` // to begin with, "" to find out
	Server    string `json:"server,omitempty"`  // name and version of the server it was learnt from
}

// A Memory keeps eras from one process to the next, by the name of a server
// and the Source of its Spec, which may hold secrets.
type Memory interface {
	Recall(server, source string) Era
	Remember(server, source string, e Era)
}

type forgetful struct{}

func (forgetful) Recall(string, string) Era    { return Era{} }
func (forgetful) Remember(string, string, Era) {}
