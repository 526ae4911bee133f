package io.keyturn.client.internal.session;

import io.grpc.Status;
import io.keyturn.client.internal.words.Failures;

/**
 * Code of the application that runs in this thread, and for which a part of the client waits when it ends: there a wait for that
 * end would never be over.
 */
public final class Inside {
    private static final ThreadLocal<Inside> CURRENT = new ThreadLocal<>();

    private final Base base;
    private final Object part;
    private final Inside outer;

    private Inside(Base base, Object part, Inside outer) {
        this.base = base;
        this.part = part;
        this.outer = outer;
    }

    /** It is left when that code has returned. */
    public static Inside enter(Base base, Object part) {
        Inside entered = new Inside(base, part, CURRENT.get());
        CURRENT.set(entered);
        return entered;
    }

    /** {@code part}: null: all of the client. */
    public static void refuseToWaitFor(Base base, Object part) {
        base.refuseToBlock();
        for (Inside inside = CURRENT.get(); inside != null; inside = inside.outer) {
            if (inside.base == base && (part == null || inside.part == part)) throw refusal();
        }
    }

    private static RuntimeException refusal() {
        return Failures.of(
                "a handler, a leader or a callback closes what waits for its own end; stop() does not wait, and another thread may close",
                Status.Code.FAILED_PRECONDITION);
    }

    /** In the thread that entered. */
    public void leave() {
        if (outer == null) CURRENT.remove();
        else CURRENT.set(outer);
    }
}
