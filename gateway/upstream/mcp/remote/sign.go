package remote

import (
	"fmt"
	"net/http"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
)

// A Signer adds credentials to requests.
type Signer interface {
	// Sign adds them. After an error the request is not sent.
	Sign(req *http.Request) error
	// Refused is told of an answer 401 or 403, whose body is not its business.
	// It reports whether the request may succeed when it is signed again, and
	// else why not and what to do about it, an upstream.ErrUnauthorized, or nil
	// if it does not know.
	Refused(req *http.Request, resp *http.Response) (again bool, why error)
}

// send sends a request, and once more when that may help after its credentials
// were refused: or twice, where a server wants its nonce with new ones.
func (l *Link) send(x *exchange, out *http.Request) (*http.Response, error) {
	for try := 0; ; try++ {
		resp, err := l.base.RoundTrip(out)
		if err != nil || !turnedAway(resp.StatusCode) || l.o.Signer == nil {
			return resp, err
		}
		var again bool
		again, x.why = l.o.Signer.Refused(out, resp)
		if !again || try > 1 || try == 1 && !dpop.WantsNonce(resp) {
			return resp, nil
		}
		next := out.Clone(out.Context())
		if out.GetBody != nil {
			if next.Body, err = out.GetBody(); err != nil {
				return resp, nil //nolint:nilerr // the answer stands
			}
		}
		if err := l.o.Signer.Sign(next); err != nil {
			return resp, nil //nolint:nilerr // the answer stands
		}
		resp.Body.Close()
		out = next
	}
}

// unauthorized is the error of an answer that asks for other credentials than
// those configured, or for some.
func (l *Link) unauthorized(x *exchange, answer string) error {
	if x.why != nil {
		return fmt.Errorf("%w (HTTP %s)", x.why, answer)
	}
	advice := "it wants a login: give its token under headers"
	if len(l.o.Headers) > 0 || l.o.Secret || l.origin.User != nil || l.origin.RawQuery != "" {
		advice = "check its token"
	}
	return fmt.Errorf("%w: HTTP %s: %s", upstream.ErrUnauthorized, answer, advice)
}

// turnedAway reports a status that asks for other credentials.
func turnedAway(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}
