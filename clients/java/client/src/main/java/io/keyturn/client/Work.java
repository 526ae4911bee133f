package io.keyturn.client;

import com.google.protobuf.ByteString;
import io.keyturn.v1.AckRequest;
import io.keyturn.v1.Delivery;
import io.keyturn.v1.FollowUp;
import io.keyturn.v1.Turn;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** A turn with its items, as a handler gets it. Its methods are for any thread while the handler runs. */
public final class Work {
    private final Base base;
    private final Turn turn;
    private final Held held;
    private final List<DeliveredItem> items;
    private final List<FollowUp> followUps = new ArrayList<>();
    private ByteString result = ByteString.EMPTY;
    private volatile boolean ended;

    Work(Base base, Delivery delivery, Held held) {
        this.base = base;
        this.turn = delivery.getTurn();
        this.held = held;
        this.items = delivery.getItemsList().stream().map(DeliveredItem::of).toList();
    }

    /**
     * The queue.
     *
     * @return its name
     */
    public String queue() {
        return turn.getQueue();
    }

    /**
     * The key.
     *
     * @return empty for a keyless item
     */
    public String key() {
        return turn.getKey();
    }

    /**
     * The fencing token: it grows with every turn of the queue. Let what you write to refuse a smaller one than it has seen.
     *
     * @return above 0
     */
    public long token() {
        return turn.getToken();
    }

    /**
     * Which try of the first item this is.
     *
     * @return from 1
     */
    public int attempt() {
        return turn.getAttempt();
    }

    /**
     * Consecutive items of the key, in order.
     *
     * @return at least one
     */
    public List<DeliveredItem> items() {
        return items;
    }

    /**
     * The first of them; unless {@code maxItemsPerTurn} says more the only one.
     *
     * @return the item
     */
    public DeliveredItem item() {
        return items.get(0);
    }

    /**
     * Whether the turn is lost.
     *
     * @return true: stop
     */
    public boolean isLost() {
        return held.isLost();
    }

    /**
     * Goes on only if the turn is held, as far as is known.
     *
     * @throws TurnLostException when it is lost
     */
    public void ensureHeld() {
        if (held.isLost()) throw held.lostException();
    }

    /**
     * Has somebody told, by the thread that completes futures, once the turn is lost.
     *
     * @param listener gets the cause; it must not block
     */
    public void onLost(Consumer<TurnLoss> listener) {
        Checks.needed("listener", listener);
        held.onLoss(loss -> {
            if (!ended) base.callbacks.execute(() -> listener.accept(loss));
        });
    }

    /** The handler is over: what becomes of the turn is not its business any more. */
    void end() {
        ended = true;
    }

    /**
     * What the items came to: for {@link Keyturn#result}, and for their idempotency keys.
     *
     * @param bytes up to 1 MiB; the last one counts
     */
    public synchronized void result(byte[] bytes) {
        result = ByteString.copyFrom(Checks.needed("result", bytes));
    }

    /**
     * Submits an item in the same step that ends this turn as done: both or neither.
     *
     * @param queue where it goes
     * @param item up to 1,000 for one turn
     */
    public synchronized void followUp(String queue, QueueItem item) {
        if (followUps.size() >= QueueItem.MOST_ITEMS) throw Failures.wrong("followUps has 1000 items; no more are allowed");
        followUps.add(FollowUp.newBuilder()
                .setQueue(Checks.text("queue", queue))
                .setItem(Checks.needed("item", item).named(base).message())
                .build());
    }

    Turn turn() {
        return turn;
    }

    Held held() {
        return held;
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
