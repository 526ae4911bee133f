package io.keyturn.client.internal.words;

import io.keyturn.client.ConsumerOptions.Stage;
import io.keyturn.client.ReleaseException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.TurnLostException;
import io.keyturn.v1.Turn;

/** A span that was begun. For any thread. None of it throws. */
public interface TraceSpan {
    /** Nobody listens. */
    TraceSpan NONE = new TraceSpan() {};

    /** While it is open the span is the one that is active in the thread that opened it, which closes it. */
    interface Active {
        void close();
    }

    default Active activate() {
        return () -> {};
    }

    /** For the turn. */
    default void waiting() {}

    default void granted(Turn turn) {}

    default void lost(TurnLoss loss) {}

    /** The same error twice is recorded once. */
    default void failed(Throwable error) {}

    /** A word of {@code keyturn.outcome}. The last one counts. */
    default void outcome(String word) {}

    /** A second one does nothing. */
    default void end() {}

    /** Of an attempt. To release is no failure; and why items are dead letters was told when they failed. */
    default void trouble(Throwable error, Stage stage) {
        if (stage == Stage.TURN_LOST) outcome("lost");
        if (stage == Stage.SETTLE) outcome("unsettled");
        if (stage != Stage.DEAD_LETTER && !(error instanceof ReleaseException)) failed(error);
    }

    /** A turn that did not come, or did not come to its end. */
    default void failedTurn(Throwable error) {
        if (error instanceof TurnLostException lost) lost(lost.loss());
        failed(error);
        outcome(error instanceof TurnLostException ? "lost" : "failed");
    }
}
