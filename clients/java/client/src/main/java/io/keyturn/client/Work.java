package io.keyturn.client;

import com.google.protobuf.ByteString;
import io.keyturn.client.internal.consume.Delivered;
import io.keyturn.client.internal.words.Checks;
import java.util.List;
import java.util.function.Consumer;

/** A turn with its items, as a handler gets it. Its methods are for any thread while the handler runs. */
public final class Work {
    private final Delivered delivered;

    Work(Delivered delivered) {
        this.delivered = delivered;
    }

    /**
     * The queue.
     *
     * @return its name
     */
    public String queue() {
        return delivered.turn.getQueue();
    }

    /**
     * The key.
     *
     * @return empty for a keyless item
     */
    public String key() {
        return delivered.turn.getKey();
    }

    /**
     * The fencing token: it grows with every turn of the key. Let what you write to refuse a smaller one of the same key.
     *
     * @return above 0
     */
    public long token() {
        return delivered.turn.getToken();
    }

    /**
     * Which try of the first item this is.
     *
     * @return from 1
     */
    public int attempt() {
        return delivered.turn.getAttempt();
    }

    /**
     * Consecutive items of the key, in order.
     *
     * @return at least one
     */
    public List<DeliveredItem> items() {
        return delivered.items;
    }

    /**
     * The first of them; unless {@code maxItemsPerTurn} says more the only one.
     *
     * @return the item
     */
    public DeliveredItem item() {
        return delivered.items.get(0);
    }

    /**
     * Whether the turn is lost.
     *
     * @return true: stop
     */
    public boolean isLost() {
        return delivered.held.isLost();
    }

    /**
     * Goes on only if the turn is held, as far as is known.
     *
     * @throws TurnLostException when it is lost
     */
    public void ensureHeld() {
        if (delivered.held.isLost()) throw delivered.held.lostException();
    }

    /**
     * Has somebody told, by the thread that completes futures, once the turn is lost.
     *
     * @param listener gets the cause; it must not block
     */
    public void onLost(Consumer<TurnLoss> listener) {
        delivered.onLost(Checks.needed("listener", listener));
    }

    /**
     * What the items came to: for {@link Keyturn#result}, and for their idempotency keys.
     *
     * @param bytes up to 1 MiB; the last one counts. What is larger makes the items dead letters, with the reason
     */
    public void result(byte[] bytes) {
        delivered.result(ByteString.copyFrom(Checks.needed("result", bytes)));
    }

    /**
     * Submits an item in the same step that ends this turn as done: both or neither.
     *
     * @param queue where it goes
     * @param item up to 1,000 for one turn, 4 MiB in all, with a payload of up to 1 MiB each. What is more makes the items of the turn
     *     dead letters, with the reason
     */
    public void followUp(String queue, QueueItem item) {
        delivered.followUp(Checks.text("queue", queue), Checks.needed("item", item));
    }
}
