package io.keyturn.client;

import io.keyturn.client.internal.lead.Candidacy;
import io.keyturn.client.internal.lead.Career;
import io.keyturn.client.internal.lead.LeadLink;
import io.keyturn.client.internal.lead.Term;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.words.Checks;
import io.keyturn.client.internal.words.LeadSettings;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** A worker that stands, and leads when its turn comes, made by {@link Keyturn#lead}. For any thread. */
public final class Leadership implements AutoCloseable {
    static final Duration DEFAULT_STOP = Duration.ofSeconds(20);

    private final Base base;
    private final Candidacy candidacy;
    private final LeadSettings settings;

    Leadership(Base base, LeadLink link, String group, LeaderCareer career, LeadSettings settings) {
        this.base = base;
        this.settings = settings;
        candidacy = new Candidacy(base, link, group, settings, phases(Checks.needed("career", career)));
    }

    private static Career phases(LeaderCareer career) {
        return new Career() {
            @Override
            public void inaugurate(Term term) throws Exception {
                career.inaugurate(new LeaderTerm(term));
            }

            @Override
            public void execute(Term term) throws Exception {
                career.execute(new LeaderTerm(term));
            }

            @Override
            public byte[] handOver(Term term, HandOverCause cause) throws Exception {
                return career.handOver(new LeaderTerm(term), cause);
            }
        };
    }

    void start() {
        candidacy.start();
    }

    /**
     * Who stands.
     *
     * @return the id
     */
    public String candidateId() {
        return settings.candidateId();
    }

    /**
     * The number of the term.
     *
     * @return empty: this worker has none that is known to live
     */
    public OptionalLong term() {
        return candidacy.term();
    }

    /**
     * The place among those who wait.
     *
     * @return from 1; empty: it leads, or is not known to stand
     */
    public OptionalInt position() {
        return candidacy.position();
    }

    /** Does not want to lead any longer: the worker is asked to hand over, and stands again behind all others. */
    public void yield() {
        candidacy.yieldSoon();
    }

    /**
     * Completes when it stands no more. Fails when the sidecar refuses it.
     *
     * @return a future of its end
     */
    public CompletableFuture<Void> done() {
        return candidacy.done().copy();
    }

    /**
     * Hands over if it leads, and stands no more. After the time-out the worker is told that its term is lost; it ends at the latest
     * a second after that.
     *
     * @param timeout up to 24 h; of several stops the shortest counts
     * @return completes when it stands no more, whyever
     */
    public CompletableFuture<Void> stop(Duration timeout) {
        candidacy.stop(Checks.within("timeout", timeout, Duration.ZERO, Checks.DAY));
        return candidacy.done().handle((nothing, error) -> null);
    }

    /**
     * Stops with 20 s for the hand-over, and waits for it.
     *
     * @throws KeyturnException FAILED_PRECONDITION in its own career, which would wait for itself: use {@link #stop}
     */
    @Override
    public void close() {
        candidacy.refuseToWait();
        base.getUninterruptibly(stop(DEFAULT_STOP));
    }

    boolean awaitThreads(long nanos) throws InterruptedException {
        return candidacy.awaitThreads(nanos);
    }
}
