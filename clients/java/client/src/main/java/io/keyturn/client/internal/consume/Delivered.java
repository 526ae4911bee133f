package io.keyturn.client.internal.consume;

import com.google.protobuf.ByteString;
import io.keyturn.client.DeadLetterException;
import io.keyturn.client.DeliveredItem;
import io.keyturn.client.QueueItem;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Held;
import io.keyturn.client.internal.session.Transport;
import io.keyturn.client.internal.words.Answers;
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
    /** Bytes of follow-ups: more than any Ack can take. */
    private static final int MOST_KEPT = 2 * Transport.LARGEST_CALL;
    /** What a message has around an Ack, at most. */
    private static final int AROUND = 96;

    public final Turn turn;
    public final List<DeliveredItem> items;
    public final Held held;
    private final Base base;
    private final List<FollowUp> followUps = new ArrayList<>();
    /** Of all that the handler said: those that no Ack can take are not kept. */
    private int followUpCount;
    private long followUpBytes;
    /** What is too large in the first one that is; null: nothing. */
    private String tooLarge;
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
        QueueItem named = stamped(Items.named(item, base.newId));
        if (tooLarge == null) tooLarge = Items.tooLarge(named, "followUps[" + followUpCount + "].item");
        followUpCount++;
        followUpBytes += Items.size(named);
        if (tooLarge != null || followUpCount > Items.MOST || followUpBytes > MOST_KEPT) return;
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

    /** Why no Ack can say what the handler said; null: one can. Another attempt would say the same, and the work is done. */
    synchronized DeadLetterException unfit() {
        if (result.size() > Items.PAYLOAD) {
            return new DeadLetterException("the result takes " + result.size() + " bytes; at most " + Items.PAYLOAD);
        }
        if (followUpCount > Items.MOST) {
            return new DeadLetterException("there are " + followUpCount + " follow-ups; at most " + Items.MOST);
        }
        if (tooLarge != null) return new DeadLetterException(tooLarge);
        long bytes = followUpBytes > MOST_KEPT ? followUpBytes + result.size() : ack().getSerializedSize() + AROUND;
        if (bytes <= Transport.LARGEST_CALL) return null;
        String fits = "; at most " + Transport.LARGEST_CALL + " fit into one Ack";
        return new DeadLetterException("the result and the follow-ups take " + bytes + " bytes" + fits);
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
