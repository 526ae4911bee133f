package io.keyturn.client.internal.consume;

import com.google.protobuf.ByteString;
import io.keyturn.client.DeliveredItem;
import io.keyturn.client.QueueItem;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Held;
import io.keyturn.client.internal.words.Answers;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Items;
import io.keyturn.client.internal.words.TraceSpan;
import io.keyturn.v1.AckRequest;
import io.keyturn.v1.Delivery;
import io.keyturn.v1.FollowUp;
import io.keyturn.v1.Turn;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** A turn with its items while its handler runs, and what that says of it. For any thread. */
public final class Delivered {
    public final Turn turn;
    public final List<DeliveredItem> items;
    public final Held held;
    private final Base base;
    private final List<FollowUp> followUps = new ArrayList<>();
    private ByteString result = ByteString.EMPTY;
    private volatile boolean ended;
    private volatile TraceSpan span = TraceSpan.NONE;

    Delivered(Base base, Delivery delivery, Held held) {
        this.base = base;
        this.turn = delivery.getTurn();
        this.items = delivery.getItemsList().stream().map(Answers::delivered).toList();
        this.held = held;
    }

    public void onLost(Consumer<TurnLoss> listener) {
        held.onLoss(loss -> {
            if (!ended) base.callbacks.execute(() -> listener.accept(loss));
        });
    }

    /** The handler is over: what becomes of the turn is not its business any more. */
    void end() {
        ended = true;
    }

    public synchronized void result(ByteString bytes) {
        result = bytes;
    }

    public synchronized void followUp(String queue, QueueItem item) {
        if (followUps.size() >= Items.MOST) throw Failures.wrong("followUps has 1000 items; no more are allowed");
        QueueItem named = stamped(Items.named(item, base.newId));
        followUps.add(FollowUp.newBuilder().setQueue(queue).setItem(Items.message(named)).build());
    }

    void tracedBy(TraceSpan span) {
        this.span = span;
    }

    /** It was caused by this attempt, in whatever thread. */
    private QueueItem stamped(QueueItem item) {
        if (span == TraceSpan.NONE) return item;
        TraceSpan.Active ours = span.activate();
        try {
            return base.tracing.stamped(item);
        } finally {
            ours.close();
        }
    }

    synchronized AckRequest ack() {
        return AckRequest.newBuilder()
                .setQueue(turn.getQueue())
                .setKey(turn.getKey())
                .setToken(turn.getToken())
                .setResult(result)
                .addAllFollowUps(followUps)
                .build();
    }
}
