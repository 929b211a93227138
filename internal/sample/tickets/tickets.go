// Package tickets is a small REST API that really works: a support desk in
// memory, with its OpenAPI document. It is what the demo shows of REST APIs.
package tickets

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
)

//go:embed openapi.yaml
var document []byte

// Document is the path of the OpenAPI document.
const Document = "/openapi.yaml"

// A ticket is a customer's problem.
type ticket struct {
	ID       int    `json:"id"`
	Subject  string `json:"subject"`
	Customer string `json:"customer,omitempty"`
	Status   string `json:"status"`
}

// The states of a ticket.
const (
	open   = "open"
	closed = "closed"
)

const (
	maxTickets = 1000 // kept; the oldest go first
	maxBody    = 64 << 10
)

// A desk answers requests.
type desk struct {
	mu      sync.Mutex // guards the fields below
	tickets []ticket   // oldest first
	last    int
}

// New returns the API with three tickets.
func New() http.Handler {
	d := &desk{}
	d.add(ticket{Subject: "The invoice of March is empty", Customer: "Harbor Books", Status: closed})
	d.add(ticket{Subject: "I cannot sign in since the update", Customer: "Nils Berg", Status: open})
	d.add(ticket{Subject: "Please ship to another address", Customer: "Harbor Books", Status: open})
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Document, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(document) // the client may be gone
	})
	mux.HandleFunc("GET /tickets", d.list)
	mux.HandleFunc("POST /tickets", d.open)
	mux.HandleFunc("GET /tickets/{id}", d.get)
	mux.HandleFunc("DELETE /tickets/{id}", d.close)
	return mux
}

// add gives a ticket its number. The caller holds mu, or is alone.
func (d *desk) add(t ticket) ticket {
	d.last++
	t.ID = d.last
	d.tickets = append(d.tickets, t)
	d.tickets = d.tickets[max(0, len(d.tickets)-maxTickets):]
	return t
}

func (d *desk) list(w http.ResponseWriter, r *http.Request) {
	limit := 20
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			answer(w, http.StatusBadRequest, problem("limit is a number from 1 to 100"))
			return
		}
		limit = n
	}
	status := r.FormValue("status")
	found := []ticket{}
	d.mu.Lock()
	for i := len(d.tickets) - 1; i >= 0 && len(found) < limit; i-- {
		if t := d.tickets[i]; status == "" || t.Status == status {
			found = append(found, t)
		}
	}
	d.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"tickets": found})
}

func (d *desk) open(w http.ResponseWriter, r *http.Request) {
	var t ticket
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&t)
	if err != nil || t.Subject == "" || len(t.Subject) > 200 {
		answer(w, http.StatusBadRequest, problem("a ticket is a JSON object with a subject of 1 to 200 characters"))
		return
	}
	t.Status = open
	d.mu.Lock()
	t = d.add(t)
	d.mu.Unlock()
	answer(w, http.StatusCreated, t)
}

func (d *desk) get(w http.ResponseWriter, r *http.Request) {
	d.with(w, r, func(t *ticket) { answer(w, http.StatusOK, *t) })
}

func (d *desk) close(w http.ResponseWriter, r *http.Request) {
	d.with(w, r, func(t *ticket) {
		t.Status = closed
		w.WriteHeader(http.StatusNoContent)
	})
}

// with finds the ticket that the path names.
func (d *desk) with(w http.ResponseWriter, r *http.Request, do func(*ticket)) {
	id, err := strconv.Atoi(r.PathValue("id"))
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.tickets {
		if err == nil && d.tickets[i].ID == id {
			do(&d.tickets[i])
			return
		}
	}
	answer(w, http.StatusNotFound, problem("there is no ticket "+r.PathValue("id")))
}

func problem(text string) any { return map[string]string{"error": text} }

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
