package tickets

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTickets(t *testing.T) {
	srv := httptest.NewServer(New())
	defer srv.Close()
	for _, c := range []struct {
		request, body string
		status        int
		want          string
	}{
		{"GET /openapi.yaml", "", 200, "operationId: list_tickets"},
		{"GET /tickets?status=open&limit=1", "", 200, `{"tickets":[{"id":3,"subject":"Please ship to another address","customer":"Harbor Books","status":"open"}]}`},
		{"GET /tickets?limit=x", "", 400, "limit is a number"},
		{"POST /tickets", `{"subject":"No sound","status":"closed"}`, 201, `{"id":4,"subject":"No sound","status":"open"}`},
		{"POST /tickets", `{}`, 400, "with a subject"},
		{"DELETE /tickets/4", "", 204, ""},
		{"GET /tickets/4", "", 200, `"status":"closed"`},
		{"GET /tickets/9", "", 404, "there is no ticket 9"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: got %d %s, %v", c.request, res.StatusCode, body, err)
		}
	}
}
