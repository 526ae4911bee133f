package keyturn

import (
	"sync"
	"time"
)

// heldTurn is one turn that somebody was given and has not settled.
type heldTurn struct {
	ref TurnRef
	// attempt of its items; 0 for a turn without items.
	attempt int
	lease   time.Duration
	// tied: it lives as long as its session does.
	tied   bool
	ticket string
	// fresh: of a scoped call that has not handed it on yet. Guarded by the transport.
	fresh bool
	// inUse: somebody keeps it alive. Told lost for silence, they have until endAt to come to their end. Guarded by the session.
	inUse bool
	endAt moment
	// wasInUse: somebody did when it was told lost for silence.
	wasInUse bool
	// Never: as long as the session is known to live. Else until this moment: a new stream did not tell of it.
	safeUntil moment

	mu    sync.Mutex
	loss  *TurnLostError
	tells []func(*TurnLostError)
}

// lose tells whoever watches. Only the first cause counts; it reports whether it was this one.
func (h *heldTurn) lose(cause LossCause) bool {
	h.mu.Lock()
	if h.loss != nil {
		h.mu.Unlock()
		return false
	}
	h.loss = turnLost(h.ref, cause)
	tells := h.tells
	h.tells = nil
	h.mu.Unlock()
	for _, tell := range tells {
		tell(h.loss)
	}
	return true
}

// lost is nil as long as the turn is not known to be lost.
func (h *heldTurn) lost() *TurnLostError {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loss
}

// watch calls tell when the turn is lost, at once if it is. Tell must not block.
func (h *heldTurn) watch(tell func(*TurnLostError)) {
	h.mu.Lock()
	loss := h.loss
	if loss == nil {
		h.tells = append(h.tells, tell)
	}
	h.mu.Unlock()
	if loss != nil {
		tell(loss)
	}
}
