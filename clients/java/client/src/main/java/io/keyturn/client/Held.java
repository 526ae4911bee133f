package io.keyturn.client;

import io.keyturn.v1.Turn;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** One turn that somebody holds: it is kept alive until it is released. For any thread. */
final class Held {
    final Turn turn;
    private final Consumer<Held> onRelease;
    private List<Consumer<TurnLoss>> listeners = List.of();
    private volatile TurnLoss loss;

    Held(Turn turn, Consumer<Held> onRelease) {
        this.turn = turn;
        this.onRelease = onRelease;
    }

    /** Null: as far as is known it is ours. */
    TurnLoss loss() {
        return loss;
    }

    boolean isLost() {
        return loss != null;
    }

    TurnLostException lostException() {
        return Failures.lost(turn, loss);
    }

    /** Runs it once when the turn is lost, at once if it is. It must be quick: the loop may be what runs it. */
    void onLoss(Consumer<TurnLoss> listener) {
        synchronized (this) {
            if (loss == null) {
                if (listeners.isEmpty()) listeners = new ArrayList<>(2);
                listeners.add(listener);
                return;
            }
        }
        listener.accept(loss);
    }

    /** Only the first cause counts. */
    void lose(TurnLoss why) {
        List<Consumer<TurnLoss>> told;
        synchronized (this) {
            if (loss != null) return;
            loss = why;
            told = listeners;
            listeners = List.of();
        }
        for (Consumer<TurnLoss> listener : told) listener.accept(why);
    }

    /** It was settled: it is not kept alive any more. */
    void release() {
        onRelease.accept(this);
    }
}
