package mask

import (
	"context"
	"fmt"
	"log/slog"
)

// A maskedHandler is a slog.Handler that writes no secret of a server, and
// nothing at any length.
type maskedHandler struct {
	slog.Handler
	mask Masker
}

// Longest bounds one text in the log, in bytes.
const Longest = 4 << 10

// Log is log without the secrets of m.
func (m Masker) Log(log *slog.Logger) *slog.Logger {
	return slog.New(maskedHandler{log.Handler(), m})
}

// Handle implements slog.Handler.
func (h maskedHandler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.mask.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h maskedHandler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString, slog.KindAny:
		text := v.String()
		if v.Kind() == slog.KindAny {
			text = fmt.Sprint(v.Any())
		}
		if clean := Cut(h.mask.Text(text), Longest); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h maskedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return maskedHandler{h.Handler.WithAttrs(clean), h.mask}
}

// WithGroup implements slog.Handler.
func (h maskedHandler) WithGroup(name string) slog.Handler {
	return maskedHandler{h.Handler.WithGroup(name), h.mask}
}
