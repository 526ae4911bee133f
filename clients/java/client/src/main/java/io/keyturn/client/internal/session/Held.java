package io.keyturn.client.internal.session;

import io.keyturn.client.TurnLoss;
import io.keyturn.client.TurnLostException;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.v1.Turn;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** One turn that somebody holds: it is kept alive until it is released. For any thread. */
public final class Held {
    final Turn turn;
    private final Consumer<Held> onRelease;
    private List<Consumer<TurnLoss>> listeners = List.of();
    private volatile TurnLoss loss;

    Held(Turn turn, Consumer<Held> onRelease) {
        this.turn = turn;
        this.onRelease = onRelease;
    }

    /** Null: as far as is known it is ours. */
    public TurnLoss loss() {
        return loss;
    }

    public boolean isLost() {
        return loss != null;
    }

    public TurnLostException lostException() {
        return Failures.lost(turn, loss);
    }

    /** Runs it once when the turn is lost, at once if it is. It must be quick: the loop may be what runs it. */
    public void onLoss(Consumer<TurnLoss> listener) {
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
    public void lose(TurnLoss why) {
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
    public void release() {
        onRelease.accept(this);
    }
}
