package io.keyturn.client.internal.lead;

import io.keyturn.client.HandOverCause;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Inside;
import io.keyturn.client.internal.session.Interrupter;
import io.keyturn.client.internal.session.ThreadMaker;
import io.keyturn.client.internal.session.Threads;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.LeadSettings;
import java.lang.System.Logger.Level;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;

/** Runs what the career does in a thread of its own, and brings back to the loop what came of it. */
final class Phases {
    private static final int MOST_STATE = 65_536;

    /** Told in the loop what came of a phase. */
    interface Owner {
        /** {@code error}: null: it succeeded. */
        void inaugurated(Term term, Throwable error);

        /** {@code error}: null: it succeeded. */
        void executed(Term term, Throwable error);

        /** {@code state}: null: it failed. */
        void handedOver(Term term, byte[] state);
    }

    private interface Work {
        void run() throws Exception;
    }

    private interface Outcome {
        /** {@code error}: null: it succeeded. */
        void told(Throwable error);
    }

    private final ThreadMaker maker = Threads.maker("keyturn-leader");
    private final ThreadPoolExecutor threads = Threads.pool(maker);
    private final Base base;
    private final Owner owner;
    private final LeadSettings settings;
    private final Career career;

    Phases(Base base, Owner owner, LeadSettings settings, Career career) {
        this.base = base;
        this.owner = owner;
        this.settings = settings;
        this.career = career;
    }

    void inaugurate(Term term) {
        run(term, "inauguration", () -> career.inaugurate(term), error -> owner.inaugurated(term, error));
    }

    void execute(Term term) {
        run(term, "work", () -> career.execute(term), error -> owner.executed(term, error));
    }

    void handOver(Term term, HandOverCause cause) {
        byte[][] left = {null};
        Work work = () -> left[0] = checked(career.handOver(term, cause));
        run(term, "hand-over", work, error -> owner.handedOver(term, error == null ? left[0] : null));
    }

    /** One that the sidecar would refuse ends no term. A copy: it may be sent again. */
    private static byte[] checked(byte[] state) {
        if (state == null) return new byte[0];
        if (state.length <= MOST_STATE) return state.clone();
        throw Failures.wrong("state has " + state.length + " bytes; allowed are up to " + MOST_STATE);
    }

    void shutdown() {
        threads.shutdown();
    }

    boolean awaitThreads(long nanos) throws InterruptedException {
        return maker.awaitEnd(threads, nanos);
    }

    private void run(Term term, String phase, Work work, Outcome outcome) {
        try {
            threads.execute(() -> {
                Throwable error = perform(term, work);
                if (error != null && term.loss() == null) {
                    base.logger.log(Level.WARNING, "the " + phase + " of a leader failed, group " + term.group, error);
                }
                base.inLoop(() -> outcome.told(error));
            });
        } catch (RejectedExecutionException over) {
            // Nobody waits for it any more.
            outcome.told(over);
        } catch (Error noThread) {
            base.logger.log(Level.WARNING, "there is no thread for a leader", noThread);
            outcome.told(noThread);
        }
    }

    private Throwable perform(Term term, Work work) {
        Interrupter mine = new Interrupter();
        if (settings.interrupts()) term.runs(mine);
        Inside inside = Inside.enter(base, owner);
        try {
            work.run();
            return null;
        } catch (Throwable error) {
            // Whatever it is: the term must end.
            return error;
        } finally {
            inside.leave();
            mine.end();
        }
    }
}
