package upstream

import (
	"net/http"
	"strings"
)

// WantsNonce reports an answer that refuses a request for the nonce in its
// proof alone (RFC 9449, section 9): the same token is taken with another proof.
func WantsNonce(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized && strings.Contains(strings.Join(resp.Header.Values("WWW-Authenticate"), ","), `"use_dpop_nonce"`)
}
