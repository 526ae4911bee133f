package main

import (
	"errors"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// put leaves out what is unset.
func put(into fields, name string, value any) {
	switch value := value.(type) {
	case string:
		if value == "" {
			return
		}
	case keyturn.Reason:
		if value == "" {
			return
		}
	case []byte:
		if len(value) == 0 {
			return
		}
		into[name] = shownBytes(value)
		return
	case time.Duration:
		if value == 0 {
			return
		}
		into[name] = value.Milliseconds()
		return
	}
	into[name] = value
}

// putIf is for what is said by being there.
func putIf(into fields, name string, value bool) {
	if value {
		into[name] = true
	}
}

func shownGiven(turn *keyturnv1.Turn) fields {
	return fields{
		"queue": turn.GetQueue(), "key": turn.GetKey(), "token": turn.GetToken(), "lease_ms": turn.GetLease().AsDuration().Milliseconds(),
		"attempt": turn.GetAttempt(),
	}
}

func shownEnQueue(answer *keyturnv1.EnQueueResponse) fields {
	shown := fields{"decision": word("DECISION_", answer.Decision)}
	put(shown, "ticket", answer.Ticket)
	switch answer.Decision {
	case keyturnv1.Decision_DECISION_ACCEPT:
		shown["turn"] = shownGiven(answer.Turn)
	case keyturnv1.Decision_DECISION_BLOCK:
		shown["ahead"] = answer.Ahead
		put(shown, "retry_after_ms", answer.RetryAfter.AsDuration())
	case keyturnv1.Decision_DECISION_DECLINE:
		put(shown, "reason", reason(answer.Reason))
		put(shown, "survivor_id", answer.SurvivorId)
		put(shown, "retry_after_ms", answer.RetryAfter.AsDuration())
		put(shown, "result", answer.Result)
	}
	return shown
}

func reason(of keyturnv1.Reason) string {
	if of == keyturnv1.Reason_REASON_UNSPECIFIED {
		return ""
	}
	return word("REASON_", of)
}

func shownBatch(results []*keyturnv1.SubmitResult) []fields {
	shown := make([]fields, len(results))
	for at, one := range results {
		shown[at] = fields{"item_id": one.ItemId, "decision": word("DECISION_", one.Decision)}
		put(shown[at], "reason", reason(one.Reason))
		put(shown[at], "survivor_id", one.SurvivorId)
		put(shown[at], "superseded_id", one.SupersededId)
		put(shown[at], "retry_after_ms", one.RetryAfter.AsDuration())
		putIf(shown[at], "on_its_way", one.OnItsWay)
	}
	return shown
}

func shownResults(results []keyturn.SubmitResult) []fields {
	shown := make([]fields, len(results))
	for at, one := range results {
		shown[at] = shownResult(one)
	}
	return shown
}

func shownResult(one keyturn.SubmitResult) fields {
	shown := fields{"item_id": one.ItemID, "decision": one.Decision}
	put(shown, "reason", one.Reason)
	put(shown, "survivor_id", one.SurvivorID)
	put(shown, "superseded_id", one.SupersededID)
	put(shown, "retry_after_ms", one.RetryAfter)
	putIf(shown, "on_its_way", one.OnItsWay)
	return shown
}

func shownAcquire(answer *keyturnv1.AcquireResponse) fields {
	deliveries := make([]fields, len(answer.GetDeliveries()))
	for at, one := range answer.GetDeliveries() {
		items := make([]fields, len(one.Items))
		for at, item := range one.Items {
			headers := item.Headers
			if headers == nil {
				headers = map[string]string{}
			}
			items[at] = fields{"item_id": item.ItemId, "payload": shownBytes(item.Payload), "headers": headers, "attempt": item.Attempt}
			put(items[at], "idempotency_key", item.IdempotencyKey)
		}
		deliveries[at] = fields{"turn": shownGiven(one.Turn), "items": items}
	}
	return fields{"deliveries": deliveries}
}

func shownOutcome(outcome keyturn.Outcome, order string, value *string) fields {
	shown := fields{"status": outcome.Status}
	switch outcome.Status {
	case keyturn.StatusDone:
		if value != nil {
			shown["value"] = *value
		}
	case keyturn.StatusBlocked:
		if order != string(keyturn.OrderStrict) {
			shown["ahead"] = outcome.Ahead
		}
		put(shown, "retry_after_ms", outcome.RetryAfter)
	case keyturn.StatusDeclined:
		put(shown, "reason", outcome.Reason)
		put(shown, "survivor_id", outcome.SurvivorID)
		put(shown, "retry_after_ms", outcome.RetryAfter)
		put(shown, "result", outcome.Result)
	}
	return shown
}

var errUnsupported = errors.New("this player does not know the op")

// shownError tells the most special kind that an error is.
func shownError(err error) fields {
	shown := fields{"kind": kindOf(err), "message": err.Error()}
	var told *keyturn.Error
	if errors.As(err, &told) {
		shown["code"] = keyturn.CodeName(told.Code)
		put(shown, "reason", told.Reason)
		put(shown, "retry_after_ms", told.RetryAfter)
		if len(told.Violations) > 0 {
			violations := make([]fields, len(told.Violations))
			for at, one := range told.Violations {
				violations[at] = fields{"field": one.Field, "description": one.Description}
			}
			shown["violations"] = violations
		}
	}
	var turnLost *keyturn.TurnLostError
	if errors.As(err, &turnLost) {
		shown["cause"] = turnLost.Cause
	}
	var failed *keyturn.ItemFailedError
	if errors.As(err, &failed) {
		shown["state"] = failed.State
	}
	var spool *keyturn.SpoolError
	if errors.As(err, &spool) {
		shown["reason"] = spool.Problem
	}
	return shown
}

func kindOf(err error) string {
	var (
		turnLost *keyturn.TurnLostError
		failed   *keyturn.ItemFailedError
		many     *keyturn.SubmitManyError
		timeout  *keyturn.ProducerTimeoutError
		spool    *keyturn.SpoolError
		told     *keyturn.Error
	)
	switch {
	case errors.Is(err, errUnsupported):
		return "unsupported"
	case errors.Is(err, keyturn.ErrProducerClosed):
		return "producer_closed"
	case errors.As(err, &timeout):
		return "producer_timeout"
	case errors.Is(err, keyturn.ErrProducerFull):
		return "producer_full"
	case errors.As(err, &many):
		return "submit_many"
	case errors.As(err, &spool):
		return "spool"
	case errors.As(err, &failed):
		return "item_failed"
	case errors.As(err, &turnLost):
		return "turn_lost"
	case errors.As(err, &told):
		return "call"
	}
	return "handler"
}
