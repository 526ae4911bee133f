package keyturn

import (
	"time"

	"google.golang.org/grpc/codes"
)

// Metrics is told what a client does, for whatever counts it. Its methods are called by many goroutines, some with locks
// held: they must not block, and must not call the client.
type Metrics interface {
	// CallDone: a call of the contract (EnQueue, Ack, …) ended with this code after this time.
	CallDone(method string, code codes.Code, took time.Duration)
	// TurnGranted: a turn was given to this client.
	TurnGranted(queue string)
	// TurnLost: a turn that this client held is lost.
	TurnLost(queue string, cause LossCause)
	// Reconnected: a new stream took over the session.
	Reconnected()
}

// metricsOf does nothing when there is nobody to tell.
type metricsOf struct{ to Metrics }

func (m metricsOf) callDone(c *command, err error) {
	if m.to != nil {
		m.to.CallDone(c.name, codeOf(err), now().minus(c.askedAt))
	}
}

func (m metricsOf) turnGranted(queue string) {
	if m.to != nil {
		m.to.TurnGranted(queue)
	}
}

func (m metricsOf) turnLost(queue string, cause LossCause) {
	if m.to != nil {
		m.to.TurnLost(queue, cause)
	}
}

func (m metricsOf) reconnected() {
	if m.to != nil {
		m.to.Reconnected()
	}
}
