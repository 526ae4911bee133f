package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Statuses;
import io.keyturn.v1.HelloResponse;
import io.keyturn.v1.Notice;
import io.keyturn.v1.Reply;
import io.keyturn.v1.SessionResponse;
import java.util.List;

/**
 * One worker's session with a sidecar, over as many streams as it takes, one at a time. All of it is the loop's but {@link #ask}
 * and {@link #lossOfAll}.
 *
 * <p>Calls are open from the moment they are asked until they are answered, whatever becomes of the streams: a new one says hello
 * with the same session id, settles which turns there are, and then every open call is sent again, in order. All of them may be:
 * tickets, item ids and tokens make the same call twice one call.
 */
final class Session implements SessionStream.Handlers {
    private final ClientSettings options;
    private final Connection connection;
    private final Loop loop;
    private final Callbacks callbacks;
    private final OpenCalls calls;
    private final Inbox inbox;
    private final Liveness liveness;
    private final TurnKeeping turns;
    private final Alarm alarm;
    private final Farewell farewell;
    private final Link link = new Link();
    /** Calls are sent behind the hello, without waiting for its answer: there is nothing that it could settle. */
    private boolean piped;
    /** Until when turns were safe before this stream. */
    private long stopAtBefore;

    private boolean wasReady;
    private KeyturnException lastFailure;
    /** Nothing new is taken, and what is open is waited for. */
    private volatile boolean closing;
    /** It is being asked whether what was told last reached anybody. */
    private boolean isAsking;

    Session(ClientSettings options, Connection connection, Renewals renewals) {
        this.options = options;
        this.connection = connection;
        this.loop = connection.loop();
        this.callbacks = connection.callbacks();
        this.liveness = new Liveness(Clock.nanos(options.sessionTtl()), options::marginOf);
        this.calls = new OpenCalls(options, renewals, liveness::margin);
        this.turns = calls.turns();
        this.inbox = new Inbox(connection, this::take, this::tellAndFlush);
        this.alarm = new Alarm(loop, this::wake);
        this.farewell = new Farewell(loop);
    }

    TurnKeeping turns() {
        return turns;
    }

    /** Why every turn is lost; null: it goes on. From any thread. */
    TurnLoss lossOfAll() {
        Link.End end = link.end();
        if (end != null) return end.loss();
        return closing ? TurnLoss.CLOSED : null;
    }

    /** Null: a stream stands, or nobody needs one. Else why there is none. */
    KeyturnException unreachable() {
        if (link.isReady() || link.isIdle() || link.isStopped()) return null;
        return lastFailure == null ? Failures.noAnswerYet(connection.address()) : lastFailure;
    }

    /** From any thread. */
    void ask(WorkerCommand<?, ?> command) {
        Link.End end = link.end();
        KeyturnException refusal = end != null ? Failures.again(end.error()) : calls.admit(command);
        if (refusal == null) inbox.add(command);
        else command.future.fail(refusal);
    }

    /** Nobody waits for it any more. */
    void abandon(WorkerCommand<?, ?> command) {
        inbox.drain();
        calls.abandon(command, Failures.cancelled());
        tellAndFlush();
    }

    /** The answer came, but nobody waited for it any more when it was to be told. */
    <Q extends MessageLite, A extends MessageLite> void untold(WorkerCommand<Q, A> command, A answer) {
        turns.untold(command, answer);
        flush();
    }

    /** Its holder has come to the end. */
    void release(Held held) {
        if (turns.release(held)) flush();
    }

    /** Calls the task when nothing is left of it. What may bring or end a turn is waited for. */
    void close(Runnable done) {
        inbox.drain();
        closing = true;
        if (!link.isAttached()) {
            if (!link.isStopped()) stop(Failures.closed(), TurnLoss.CLOSED);
            done.run();
            return;
        }
        farewell.begin(link.stream(), this::leave, done);
        turns.loseAll(TurnLoss.CLOSED);
        calls.callOff(Failures.closed());
        tellAndFlush();
        leaveIfOver();
    }

    /** What was told last may have reached nobody: then its turns come back here first. */
    private void leaveIfOver() {
        if (!closing || isAsking || !link.isAttached() || calls.awaitOutcomes()) return;
        isAsking = true;
        callbacks.execute(() -> loop.tell(() -> {
            isAsking = false;
            inbox.drain();
            tellAndFlush();
            if (!calls.awaitOutcomes()) leave();
        }));
    }

    private void leave() {
        if (!link.isAttached()) return;
        stop(Failures.closed(), TurnLoss.CLOSED);
        farewell.end();
    }

    private void take(WorkerCommand<?, ?> command) {
        if (link.isStopped() || (closing && !command.kind.keepsOrEnds)) {
            calls.refuse(command, link.isStopped() ? Failures.again(link.end().error()) : Failures.closed());
            return;
        }
        liveness.busy(command.askedAt);
        calls.add(command, link.isReady() || (link.isAttached() && piped));
        alarm.by(calls.firstDeadline());
    }

    /** There is something that a stream is needed for. */
    private boolean isWanted() {
        return calls.areThereAny() || turns.tied() > 0;
    }

    private void tellAndFlush() {
        callbacks.flush();
        flush();
    }

    private void flush() {
        long now = Clock.now();
        if (link.isIdle() && isWanted()) connect(now);
        else if (link.isAttached()) calls.flush(link.stream(), now);
        arm();
    }

    private void connect(long now) {
        List<WorkerCommand<?, ?>> workers = calls.inOrder();
        piped = turns.tied() == 0 && workers.stream().noneMatch(command -> command.wasSent);
        stopAtBefore = liveness.stopAt();
        calls.clearOutbox();
        link.attach(new SessionStream(connection, this), now);
        calls.askOwn(OwnCommand.hello(options, this::greeted));
        if (piped) calls.resend(workers);
        calls.flush(link.stream(), now);
    }

    @Override
    public void message(SessionStream of, SessionResponse message) {
        if (link.isOn(of)) heard(message);
    }

    @Override
    public void ready(SessionStream of) {
        if (link.isOn(of)) flush();
    }

    @Override
    public void ended(SessionStream of, KeyturnException error) {
        if (link.isOn(of)) broke(error);
        else farewell.over();
    }

    private void greeted(Reply reply) {
        if (!reply.hasHello()) {
            broke(
                    reply.hasError()
                            ? Statuses.ofCommand(reply.getError())
                            : Failures.of("the sidecar does not answer hello", Status.Code.UNIMPLEMENTED));
            return;
        }
        HelloResponse hello = reply.getHello();
        if (hello.hasTtl()) liveness.ttl(Clock.nanos(hello.getTtl()));
        List<WorkerCommand<?, ?>> workers = calls.inOrder();
        link.ready();
        lastFailure = null;
        if (wasReady) callbacks.add(options.metrics()::reconnected);
        wasReady = true;
        // What it gives back goes before what is sent again, which may be about the same keys.
        turns.attached(hello.getTurnsList(), workers, stopAtBefore);
        if (!piped) calls.resend(workers);
    }

    private void heard(SessionResponse message) {
        for (Reply reply : message.getRepliesList()) {
            OpenCommand command = calls.take(reply.getId());
            if (command == null) continue;
            liveness.proved(command.sentAt());
            command.answered(reply);
            if (command instanceof WorkerCommand<?, ?> worker) turns.done(worker);
        }
        // After the replies: the turn that a notice is about may have been given by one of them.
        for (Notice notice : message.getNoticesList()) turns.notice(notice, calls::inOrder);
        if (!isWanted()) liveness.idle();
        callbacks.flush();
        inbox.drain();
        flush();
        leaveIfOver();
    }

    /** The stream is of no use any more, for this reason. */
    private void broke(KeyturnException error) {
        if (!link.isAttached()) return;
        link.stream().destroy();
        if (closing) {
            stop(Failures.closed(), TurnLoss.CLOSED);
            farewell.over();
            return;
        }
        long now = Clock.now();
        connection.forgetFailure();
        liveness.proofIsOver();
        calls.streamIsGone();
        if (error.reason().equals("SESSION_REPLACED")) {
            stop(error, TurnLoss.REPLACED);
            callbacks.flush();
            return;
        }
        lastFailure = error;
        // A token that ended in the middle may have been replaced: the next stream shows the one of that moment.
        boolean isRenewable = link.isReady() && error.code() == Status.Code.UNAUTHENTICATED;
        link.broke(now);
        if (Link.isForGood(error) && !isRenewable) {
            // Nothing that is asked now would come through. What is asked later may.
            turns.loseAll(TurnLoss.UNREACHABLE);
            calls.refuseAll(error);
        }
        if (isWanted()) link.pause(now);
        else liveness.idle();
        callbacks.flush();
        arm();
    }

    private void stop(KeyturnException error, TurnLoss loss) {
        link.stop(new Link.End(error, loss));
        alarm.off();
        turns.loseAll(loss);
        calls.close(error);
        inbox.drain();
        callbacks.flush();
    }

    private void wake(long late) {
        long now = Clock.now();
        liveness.woke(now, late);
        calls.expire(now, this::tooLate);
        boolean hasGivenUp = turns.tick(now, liveness.stopAt());
        // Should the stream be alive after all, the session would keep what was given up here: the next hello tells of it.
        if (hasGivenUp && link.isReady()) broke(silent());
        else if (now >= link.pausingUntil()) link.idle();
        else if (link.isAttached() && isWanted()) prove(now);
        tellAndFlush();
    }

    private void prove(long now) {
        if (now >= liveness.deadAt(link.since())) {
            broke(silent());
            return;
        }
        if (!link.isReady() || !liveness.asksForProof(now)) return;
        calls.askOwn(OwnCommand.proof(liveness::proofIsOver));
    }

    private KeyturnException tooLate() {
        if (lastFailure != null || link.isReady()) return Failures.tooLate(lastFailure);
        return Failures.tooLate(Failures.noAnswerYet(connection.address()));
    }

    private static KeyturnException silent() {
        return Failures.of("the sidecar does not answer", Status.Code.UNAVAILABLE);
    }

    private void arm() {
        if (link.isStopped()) return;
        long next = Math.min(calls.firstDeadline(), turns.nextAt(liveness.stopAt()));
        if (link.isAttached() && isWanted()) next = Math.min(next, liveness.nextAt(link.since(), link.isReady()));
        alarm.by(Math.min(next, link.pausingUntil()));
    }
}
