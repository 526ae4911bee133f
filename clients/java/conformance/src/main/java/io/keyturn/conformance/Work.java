package io.keyturn.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.keyturn.client.DeliveredItem;
import io.keyturn.client.ScopedTurn;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.TurnLostException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** What a handler does: as the request says it, told by events. */
final class Work {
    /** What a handler gets of the client, with items or without. */
    record Held(
            String queue,
            String key,
            long token,
            int attempt,
            List<DeliveredItem> items,
            BooleanSupplier lost,
            Runnable ensureHeld,
            Consumer<Consumer<TurnLoss>> onLost) {
        static Held of(ScopedTurn turn) {
            return new Held(
                    turn.queue(), turn.key(), turn.token(), 0, List.of(), turn::isLost, turn::ensureHeld, turn::onLost);
        }

        static Held of(io.keyturn.client.Work work) {
            return new Held(
                    work.queue(),
                    work.key(),
                    work.token(),
                    work.attempt(),
                    work.items(),
                    work::isLost,
                    work::ensureHeld,
                    work::onLost);
        }

        boolean isLost() {
            return lost.getAsBoolean();
        }
    }

    private final String handle;
    private final Fields work;
    private final Consumer<JsonObject> tell;
    private final Ledger ledger;
    private final Set<Performance> waiting = ConcurrentHashMap.newKeySet();

    Work(String handle, Fields work, Consumer<JsonObject> tell) {
        this.handle = handle;
        this.work = work;
        this.tell = tell;
        this.ledger = new Ledger(work.optionalText("ledger").map(Path::of));
    }

    /** How it ends. Throws the loss of the turn, unless it is to be ignored. */
    Fields perform(Held held) throws InterruptedException {
        return new Performance(held).run();
    }

    /** Lets work that is held end so: all of it, or (not 0) that of one token. */
    void finish(long token, Fields outcome) {
        List<Performance> chosen = waiting.stream()
                .filter(one -> token == 0 || one.held.token() == token)
                .toList();
        if (chosen.isEmpty()) throw new WrongRequest("nothing of " + handle + " is held with token " + token);
        for (Performance one : chosen) one.finish(outcome);
    }

    /** The client is closed: nothing waits any more. */
    void close() {
        JsonObject outcome = Shown.with("throw", "the client was closed");
        for (Performance one : waiting) one.finish(new Fields(outcome));
    }

    /** One run of the handler. */
    private final class Performance {
        final Held held;
        private final String itemIds;
        private Fields outcome;
        private boolean isToldLost;
        private boolean isToldToStop;

        Performance(Held held) {
            this.held = held;
            this.itemIds = held.items().stream().map(DeliveredItem::itemId).collect(Collectors.joining(","));
        }

        Fields run() throws InterruptedException {
            ledger.note("start", held.queue(), held.key(), held.token(), itemIds);
            // Before anybody is told, so that what follows at once finds it.
            if (work.flag("held")) waiting.add(this);
            JsonObject started = event("started");
            started.addProperty("queue", held.queue());
            started.addProperty("attempt", held.attempt());
            JsonArray items = Shown.started(held.items());
            started.add("items", items);
            tell.accept(started);
            held.onLost().accept(this::lost);
            try {
                Fields ending = outcome();
                if (held.isLost()) lostNow();
                synchronized (this) {
                    if (!isToldLost) ledger.note("end", held.queue(), held.key(), held.token(), itemIds);
                }
                return ending;
            } finally {
                waiting.remove(this);
                tell.accept(event("ended"));
            }
        }

        synchronized void finish(Fields ending) {
            outcome = ending;
            waiting.remove(this);
            notifyAll();
        }

        private JsonObject event(String name) {
            JsonObject event = Shown.with("event", name);
            event.addProperty("handle", handle);
            event.addProperty("key", held.key());
            event.addProperty("token", held.token());
            return event;
        }

        private synchronized void lost(TurnLoss loss) {
            if (isToldLost) return;
            isToldLost = true;
            ledger.note("lost", held.queue(), held.key(), held.token(), itemIds);
            JsonObject event = event("lost");
            event.addProperty("cause", Shown.word(loss, ""));
            tell.accept(event);
        }

        private TurnLostException lostNow() {
            try {
                held.ensureHeld().run();
                throw new IllegalStateException("it is not lost");
            } catch (TurnLostException lost) {
                lost(lost.loss());
                return lost;
            }
        }

        /** The thread was interrupted. Goes on when the loss is to be ignored, or (held) for another reason. */
        private void interrupted() {
            if (held.isLost()) {
                TurnLostException lost = lostNow();
                if (!work.flag("ignores_loss")) throw lost;
                return;
            }
            synchronized (this) {
                if (isToldToStop) return;
                isToldToStop = true;
            }
            tell.accept(event("told_to_stop"));
        }

        private Fields outcome() throws InterruptedException {
            if (work.flag("held")) return finished();
            if (work.has("takes_ms")) take(work.number("takes_ms"));
            if (work.has("by_payload") && !held.items().isEmpty()) {
                Fields byPayload = work.object("by_payload");
                String payload = held.items().get(0).text();
                if (byPayload.has(payload)) return byPayload.object(payload);
            }
            return work.object("does");
        }

        private void take(long ms) throws InterruptedException {
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
            for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
                try {
                    TimeUnit.NANOSECONDS.sleep(left);
                } catch (InterruptedException told) {
                    interrupted();
                    if (!work.flag("ignores_loss")) throw told;
                }
            }
        }

        private synchronized Fields finished() {
            while (outcome == null) {
                try {
                    wait();
                } catch (InterruptedException told) {
                    interrupted();
                }
            }
            return outcome;
        }
    }
}
