package io.keyturn.client.internal.lead;

import io.grpc.Status;
import io.keyturn.client.FormerLeader;
import io.keyturn.client.HandOverCause;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Protos;
import io.keyturn.client.TermLoss;
import io.keyturn.client.internal.lead.Term.Phase;
import io.keyturn.client.internal.session.BackOff;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Inside;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.LeadSettings;
import io.keyturn.client.internal.words.Statuses;
import io.keyturn.v1.LeadCommand;
import io.keyturn.v1.LeadNews;
import io.keyturn.v1.Stand;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;

/** A worker that stands, and leads when its turn comes, until it is stopped. Of the loop, but for what says otherwise. */
public final class Candidacy implements LeadLink.Standing, Term.Host, Phases.Owner {
    /** A hand-over that is not confirmed is said again after this long. */
    private static final long SAY_AGAIN = 1_000 * Clock.MS;
    /** How long a worker that was told that its time is over is waited for. */
    private static final long AFTER_LOSS = 800 * Clock.MS;

    private static final byte[] NOTHING = new byte[0];

    /** What was said at the end of a term and is not confirmed yet. */
    private record Farewell(long term, byte[] state, boolean lost, long until) {}

    private final Base base;
    private final LeadLink link;
    private final String group;
    private final LeadSettings settings;
    private final Phases phases;
    private final BackOff backOff = new BackOff();
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private volatile Term term;
    private volatile int position;
    private Farewell farewell;
    private ScheduledFuture<?> again;
    private ScheduledFuture<?> stopTimer;
    private long deadline = Clock.NEVER;
    private boolean isStopping;
    private boolean isOver;
    /** Zero: it does not stand at the sidecar. */
    private int number;

    public Candidacy(Base base, LeadLink link, String group, LeadSettings settings, Career career) {
        this.base = base;
        this.link = link;
        this.group = group;
        this.settings = settings;
        phases = new Phases(base, this, settings, career);
    }

    /** A phase that waits for the end of its candidacy would wait for itself. */
    public void refuseToWait() {
        Inside.refuseToWaitFor(base, this);
    }

    /** From any thread, as {@link #term}, {@link #position}, {@link #yieldSoon} and {@link #stop}. */
    public void start() {
        base.inLoop(this::stand);
    }

    /** It fails with what the sidecar refused it for. */
    public CompletableFuture<Void> done() {
        return done;
    }

    public OptionalLong term() {
        Term known = term;
        return known != null && known.isKnownToLive() ? OptionalLong.of(known.number) : OptionalLong.empty();
    }

    public OptionalInt position() {
        int known = position;
        return known == 0 ? OptionalInt.empty() : OptionalInt.of(known);
    }

    public void yieldSoon() {
        base.inLoop(() -> yieldNow(false));
    }

    public void stop(Duration timeout) {
        base.inLoop(() -> begin(Clock.nanos(timeout)));
    }

    public boolean awaitThreads(long nanos) throws InterruptedException {
        return phases.awaitThreads(nanos);
    }

    @Override
    public boolean say(LeadCommand.Builder command) {
        return number != 0 && link.say(number, command);
    }

    /** Its own wish needs nobody's word: it hands over also while the sidecar is away. */
    private void yieldNow(boolean failed) {
        if (term == null) return;
        say(Says.yielded(term.number, failed));
        handOver(term.number, HandOverCause.YIELD, Clock.nanos(settings.handOverTimeout()));
    }

    /** Hands over and stands no more; there is this long for it. The shorter of two times counts. */
    private void begin(long timeout) {
        long until = Clock.after(Clock.now(), timeout);
        if (isOver || until >= deadline) return;
        deadline = until;
        if (stopTimer != null) stopTimer.cancel(false);
        stopTimer = base.after(timeout, this::cutOff);
        if (isStopping) return;
        isStopping = true;
        if (term == null && farewell == null) {
            leave();
            return;
        }
        say(Says.withdrawn());
        if (term != null) handOver(term.number, HandOverCause.YIELD, Clock.nanos(settings.handOverTimeout()));
    }

    /** There is a new stream: what the sidecar has to know. */
    @Override
    public void opened() {
        long known = term != null ? term.number : farewell != null ? farewell.term : 0;
        say(LeadCommand.newBuilder()
                .setStand(Stand.newBuilder()
                        .setGroup(group)
                        .setCandidateId(settings.candidateId())
                        .setTtl(Protos.duration(settings.ttl()))
                        .setInaugurateTimeout(Protos.duration(settings.inaugurateTimeout()))
                        .setHandOverTimeout(Protos.duration(settings.handOverTimeout()))
                        .putAllMetadata(settings.metadata())
                        .setTerm(known)));
        if (farewell != null) say(Says.handedOver(farewell.term, farewell.state, farewell.lost));
        else if (term != null) term.live();
        if (isStopping) say(Says.withdrawn());
    }

    /** Nothing that was said on the stream is answered any more. */
    @Override
    public void broke(KeyturnException error) {
        position = 0;
        if (term != null) term.broke();
        base.logger.log(Level.INFO, () -> "the stream of leaders broke, group " + group + ": " + Failures.messageOf(error));
    }

    @Override
    public void told(LeadNews news) {
        if (isOver) return;
        position = 0;
        switch (news.getNewsCase()) {
            case STANDING -> position = news.getStanding().getPosition();
            case INAUGURATE -> chosen(
                    news.getInaugurate().getTerm(), Says.predecessor(news.getInaugurate().getPredecessor()));
            case KEPT -> kept(news.getKept().getTerm(), Clock.nanos(news.getKept().getTtl()));
            case EXECUTE -> execute(news.getExecute().getTerm());
            case HAND_OVER -> handOver(
                    news.getHandOver().getTerm(),
                    Says.cause(news.getHandOver().getReason()),
                    Clock.nanos(news.getHandOver().getWithin()));
            case LOST -> lost(news.getLost().getTerm(), Says.loss(news.getLost().getCause()));
            case RELEASED -> released(news.getReleased().getTerm());
            case REFUSED -> refused(Statuses.ofCommand(news.getRefused()));
            default -> base.logger.log(Level.DEBUG, "a newer sidecar tells what this client does not know");
        }
    }

    private void stand() {
        if (isOver) return;
        number = link.number();
        link.stand(number, this);
    }

    private void chosen(long chosen, FormerLeader before) {
        if (term != null) {
            boolean knows = term.phase == Phase.INAUGURATED || term.phase == Phase.EXECUTING;
            // The sidecar was away when it was told, or knows it no more.
            if (term.number == chosen && knows) say(Says.inaugurated(chosen));
            return;
        }
        if (farewell != null && farewell.term == chosen) return;
        term = new Term(base, this, chosen, group, before, settings);
        term.live();
    }

    private void kept(long confirmed, long ttl) {
        Term known = term;
        if (known == null || known.number != confirmed) return;
        known.kept(ttl);
        // Only now it is known since when the term lives at least: `inaugurate` may have been under way for long.
        if (known.phase != Phase.UNCONFIRMED || !known.isKnownToLive()) return;
        known.phase = Phase.INAUGURATING;
        phases.inaugurate(known);
    }

    @Override
    public void inaugurated(Term of, Throwable error) {
        if (of.loss() != null) finish(of, NOTHING, true);
        else if (error != null) finish(of, NOTHING, false);
        else if (of.asked != null) leaveOffice(of);
        else {
            of.phase = Phase.INAUGURATED;
            say(Says.inaugurated(of.number));
        }
    }

    private void execute(long told) {
        Term known = term;
        if (known == null || known.number != told || known.phase != Phase.INAUGURATED) return;
        if (!known.isKnownToLive()) {
            loses(known, TermLoss.UNREACHABLE);
            return;
        }
        known.phase = Phase.EXECUTING;
        phases.execute(known);
    }

    @Override
    public void executed(Term of, Throwable error) {
        of.phase = Phase.ENDED;
        if (of.loss() != null) finish(of, NOTHING, true);
        else if (of.asked != null) leaveOffice(of);
        else if (of == term) yieldNow(error != null);
    }

    private void handOver(long told, HandOverCause cause, long within) {
        Term known = term;
        if (known == null || known.number != told || known.asked != null || known.loss() != null) return;
        known.askToHandOver(cause, within);
        if (known.phase == Phase.ENDED || known.phase == Phase.INAUGURATED) leaveOffice(known);
        else if (known.phase == Phase.UNCONFIRMED) finish(known, NOTHING, false);
    }

    private void leaveOffice(Term of) {
        of.phase = Phase.HANDING_OVER;
        phases.handOver(of, of.asked);
    }

    @Override
    public void handedOver(Term of, byte[] state) {
        if (state == null) finish(of, NOTHING, true);
        else finish(of, state, of.loss() != null && state.length == 0);
    }

    /** By the clock of this process, or as the sidecar says: the worker has to stop. */
    @Override
    public void loses(Term of, TermLoss loss) {
        if (of != term || !of.lose(loss)) return;
        base.logger.log(Level.WARNING, () -> "term " + of.number + " of group " + group + " is lost: " + Says.why(loss));
        // In the other phases the worker ends it when it has stopped.
        if (of.isIdle()) finish(of, NOTHING, true);
    }

    /** The worker has stopped. That is said until it is confirmed. */
    private void finish(Term of, byte[] state, boolean lost) {
        if (of != term) return;
        of.end();
        term = null;
        farewell = new Farewell(of.number, state, lost, Clock.after(Clock.now(), of.ttl()));
        isStopping |= settings.once();
        sayFarewell();
        if (isStopping && !isOver) say(Says.withdrawn());
    }

    /** Who ends does not wait for a sidecar that is away for longer: it is not known whether the term lives there still. */
    private void sayFarewell() {
        if (farewell == null || isOver) return;
        if (isStopping && Clock.now() >= farewell.until) {
            released(farewell.term);
            return;
        }
        say(Says.handedOver(farewell.term, farewell.state, farewell.lost));
        if (number != 0) later(SAY_AGAIN, this::sayFarewell);
    }

    private void later(long nanos, Runnable task) {
        if (again != null) again.cancel(false);
        again = base.after(nanos, task);
    }

    private void lost(long told, TermLoss loss) {
        if (term != null && term.number == told) loses(term, loss);
        // What had stopped before is confirmed by that, too.
        else if (farewell != null && farewell.term == told) released(told);
        else say(Says.handedOver(told, NOTHING, true));
    }

    private void released(long told) {
        if (farewell == null || farewell.term != told) return;
        farewell = null;
        if (again != null) again.cancel(false);
        if (isStopping) leave();
    }

    private void leave() {
        say(Says.withdrawn());
        over(null);
    }

    private void refused(KeyturnException error) {
        link.remove(number);
        number = 0;
        if (error.code() != Status.Code.UNAVAILABLE && error.code() != Status.Code.RESOURCE_EXHAUSTED) {
            if (term != null) term.lose(TermLoss.UNKNOWN);
            over(error);
            return;
        }
        if (term != null) term.broke();
        later(backOff.next(Failures.retryAfter(error)), () -> {
            if (isStopping && term == null && farewell == null) {
                over(null);
                return;
            }
            stand();
            sayFarewell();
        });
    }

    /** The time is over. Who stops at once still says so. */
    private void cutOff() {
        if (term != null) loses(term, TermLoss.CLOSED);
        if (!isOver) stopTimer = base.after(AFTER_LOSS, () -> over(null));
    }

    private void over(KeyturnException error) {
        if (isOver) return;
        isOver = true;
        if (again != null) again.cancel(false);
        if (stopTimer != null) stopTimer.cancel(false);
        if (term != null) {
            term.lose(TermLoss.CLOSED);
            term.end();
        }
        if (number != 0) link.remove(number);
        number = 0;
        phases.shutdown();
        if (error != null) base.logger.log(Level.ERROR, () -> "a candidacy of group " + group + " is over: " + error.getMessage());
        base.callbacks.execute(() -> {
            if (error == null) done.complete(null);
            else done.completeExceptionally(error);
        });
    }
}
