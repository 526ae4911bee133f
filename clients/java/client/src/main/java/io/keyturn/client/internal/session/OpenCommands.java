package io.keyturn.client.internal.session;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Commands without their answer. No two have the same id; an id is used again when its command is open no more: whoever lets
 * go of a command that was sent has its answer, or gives up the stream. All but the counts is the loop's.
 */
final class OpenCommands {
    /** Calls that end or keep turns find this much more room: without them nothing would ever be answered. */
    private static final double BEYOND = 1.125;

    private final int limit;
    private final long byteLimit;
    private final AtomicInteger workers = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();
    /** By id. 0 is never one, so that it can name nothing. */
    private OpenCommand[] places = new OpenCommand[64];
    private int[] free = new int[64];
    private int freeCount;
    private int used = 1;
    private long asked;

    OpenCommands(int limit, long byteLimit) {
        this.limit = limit;
        this.byteLimit = byteLimit;
    }

    /** How many may be open for one more of this kind. */
    static int most(Kind<?, ?> kind, int limit) {
        return kind.keepsOrEnds ? (int) Math.ceil(limit * BEYOND) : limit;
    }

    /** From any thread: counts one more call of the application, or says what stands against it. */
    KeyturnException admit(WorkerCommand<?, ?> command) {
        int most = most(command.kind, limit);
        int open = workers.incrementAndGet();
        long taken = bytes.addAndGet(command.bytes());
        command.isOpen = true;
        if (open <= most && taken <= byteLimit) return null;
        forget(command);
        String what = open > most
                ? (open - 1) + " calls are open; at most " + most + " may be (openCommands)"
                : "open calls would take " + taken + " bytes; at most " + byteLimit + " (openBytes)";
        return Failures.of(what, Status.Code.RESOURCE_EXHAUSTED);
    }

    /** Counts it no more. */
    void forget(WorkerCommand<?, ?> command) {
        if (!command.isOpen) return;
        command.isOpen = false;
        workers.decrementAndGet();
        bytes.addAndGet(-command.bytes());
    }

    /** Calls of the application, those included that it waits for no more. */
    int workers() {
        return workers.get();
    }

    void add(OpenCommand command) {
        int id = freeCount > 0 ? free[--freeCount] : used++;
        if (id >= places.length) places = Arrays.copyOf(places, 2 * places.length);
        command.id = id;
        command.place = ++asked;
        places[id] = command;
    }

    boolean has(OpenCommand command) {
        return command.id > 0 && places[command.id] == command;
    }

    /** The command with this id, which is open no more; null: there is none. */
    OpenCommand take(int id) {
        OpenCommand command = id > 0 && id < places.length ? places[id] : null;
        if (command != null) remove(command);
        return command;
    }

    void remove(OpenCommand command) {
        if (!has(command)) return;
        places[command.id] = null;
        if (freeCount == free.length) free = Arrays.copyOf(free, 2 * free.length);
        free[freeCount++] = command.id;
        if (command instanceof WorkerCommand<?, ?> worker) forget(worker);
    }

    /** In the order in which they were asked. */
    List<OpenCommand> all() {
        List<OpenCommand> all = new ArrayList<>();
        for (int id = 1; id < used; id++) if (places[id] != null) all.add(places[id]);
        all.sort(Comparator.comparingLong(command -> command.place));
        return all;
    }

    /** Those of the application, in the order in which they were asked. */
    List<WorkerCommand<?, ?>> workersInOrder() {
        List<WorkerCommand<?, ?>> found = new ArrayList<>();
        for (OpenCommand command : all()) if (command instanceof WorkerCommand<?, ?> worker) found.add(worker);
        return found;
    }
}
