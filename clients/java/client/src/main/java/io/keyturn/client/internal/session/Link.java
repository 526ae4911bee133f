package io.keyturn.client.internal.session;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import java.util.Set;

/** How a session stands to its streams: it has one at a time, or none. Of the loop. */
final class Link {
    /** The longest pause between attempts to connect. */
    private static final long LONGEST_PAUSE = 2_000 * Clock.MS;
    /** Who is refused for one of these would be refused for ever. */
    private static final Set<Status.Code> FOR_GOOD = Set.of(
            Status.Code.UNIMPLEMENTED,
            Status.Code.UNAUTHENTICATED,
            Status.Code.PERMISSION_DENIED,
            Status.Code.INVALID_ARGUMENT,
            Status.Code.FAILED_PRECONDITION);

    /** Why no stream comes any more, and what that makes of turns. */
    record End(KeyturnException error, TurnLoss loss) {}

    private enum State {
        /** No stream, and nobody needs one. */
        IDLE,
        PAUSING,
        /** Hello is not answered yet. */
        GREETING,
        READY,
        /** Closed, or replaced: for good. */
        STOPPED
    }

    private final BackOff backOff = new BackOff(LONGEST_PAUSE);
    private State state = State.IDLE;
    /** The last one; none: null. */
    private SessionStream stream;
    /** When that began. */
    private long since;

    private long pausingUntil;
    private volatile End end;

    static boolean isForGood(KeyturnException error) {
        return FOR_GOOD.contains(error.code()) || Failures.isTlsForGood(error);
    }

    boolean isIdle() {
        return state == State.IDLE;
    }

    boolean isAttached() {
        return state == State.GREETING || state == State.READY;
    }

    /** Hello is answered. */
    boolean isReady() {
        return state == State.READY;
    }

    boolean isStopped() {
        return state == State.STOPPED;
    }

    boolean isOn(SessionStream one) {
        return isAttached() && stream == one;
    }

    SessionStream stream() {
        return stream;
    }

    long since() {
        return since;
    }

    void attach(SessionStream opened, long now) {
        state = State.GREETING;
        stream = opened;
        since = now;
    }

    void ready() {
        state = State.READY;
    }

    /** The stream is of no use any more. One that fails at once again and again is not a success. */
    void broke(long now) {
        if (state == State.READY && now - since >= LONGEST_PAUSE) backOff.reset();
        state = State.IDLE;
    }

    /** Until the next attempt. */
    void pause(long now) {
        state = State.PAUSING;
        pausingUntil = now + backOff.next(0);
    }

    /** NEVER: there is no pause. */
    long pausingUntil() {
        return state == State.PAUSING ? pausingUntil : Clock.NEVER;
    }

    void idle() {
        state = State.IDLE;
    }

    void stop(End why) {
        state = State.STOPPED;
        end = why;
    }

    /** Null: it goes on. From any thread. */
    End end() {
        return end;
    }
}
