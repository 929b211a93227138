// Package endpoint is what the client of any embedding server needs beside
// its protocol: batches, retries, a circuit breaker, checks of what comes
// back, and the identity of the model behind the address.
//
// A [Driver] speaks the protocol; an [Endpoint] around it embeds. Servers
// fail in many ways and each has its answer here:
//
//   - busy or failing (429, 5xx, broken connections): retried with jitter,
//     Retry-After honoured, up to a bound;
//   - dead or hanging: after a few failures in a row the breaker opens and
//     calls fail at once with [ErrUnavailable]; when it is due, a probe in
//     the background closes it again, so no query waits for a dead server;
//   - refusing texts (too long, or one of a batch): the batch is split down
//     to the one text, that one is shortened, the others go on;
//   - refusing everything (key, address, model): an error that names the
//     setting to change, not retried;
//   - answering wrongly (count, length, NaN, infinite, all zero): the vector
//     is withheld and the error says why;
//   - coming back with another model: the identity is learned again after
//     every failure and every few minutes, so vectors of two models are
//     never taken for one.
package endpoint
