package io.keyturn.client;

import io.keyturn.client.internal.lead.Term;
import java.time.Duration;
import java.util.Optional;

/** One term of a leader. For any thread. */
public final class LeaderTerm {
    private final Term term;

    LeaderTerm(Term term) {
        this.term = term;
    }

    /**
     * The fencing token: larger than that of every earlier term of the group. Give it to what you write to, and let that refuse a
     * smaller one than it has seen.
     *
     * @return the number of the term
     */
    public long number() {
        return term.number;
    }

    /**
     * What it leads.
     *
     * @return the group
     */
    public String group() {
        return term.group;
    }

    /**
     * Who leads.
     *
     * @return the id with which this worker stands
     */
    public String candidateId() {
        return term.settings.candidateId();
    }

    /**
     * Who led before.
     *
     * @return with what the last hand-over left
     */
    public FormerLeader predecessor() {
        return term.predecessor;
    }

    /**
     * Whether the work must stop.
     *
     * @return it is asked to hand over, or the term is lost
     */
    public boolean isStopping() {
        return term.isStopping();
    }

    /**
     * Waits until the work must stop: instead of sleeping.
     *
     * @param longest how long
     * @return whether it must
     * @throws InterruptedException the term is lost
     */
    public boolean awaitStopping(Duration longest) throws InterruptedException {
        return term.awaitStopping(longest);
    }

    /**
     * Whether it is lost.
     *
     * @return true: stop at once
     */
    public boolean isLost() {
        return term.loss() != null;
    }

    /**
     * Why it is lost.
     *
     * @return empty: it is not known to be
     */
    public Optional<TermLoss> loss() {
        return Optional.ofNullable(term.loss());
    }

    /**
     * For work that looks.
     *
     * @throws TermLostException if the term is lost
     */
    public void ensureHeld() {
        term.ensureHeld();
    }

    /**
     * How long the hand-over may take that was asked for.
     *
     * @return what is left; empty: nobody has asked
     */
    public Optional<Duration> timeLeft() {
        return term.timeLeft();
    }

    /** Shows that the work goes on: with {@link LeadOptions.Builder#manualProgress} to be called at every step. */
    public void progress() {
        term.progress();
    }

    /**
     * Calls back once when the term is lost; at once if it is.
     *
     * @param told must not block
     */
    public void onLost(Runnable told) {
        term.onLost(told);
    }
}
