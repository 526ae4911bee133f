package io.keyturn.client;

/** Why a message was declined. */
public enum DeclineReason {
    /** The line of the key has no room; somebody who waits already stands in for the message. */
    WAITER_EXISTS,
    /** A newer arrival took the place. */
    SUPERSEDED,
    /** The idempotency key is done. */
    ALREADY_DONE,
    /** The last turn of the key started too short a time ago. */
    TOO_SOON
}
