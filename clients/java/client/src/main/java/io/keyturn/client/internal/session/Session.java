package io.keyturn.client.internal.session;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.Protos;
import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.Statuses;
import io.keyturn.v1.Cancel;
import io.keyturn.v1.Hello;
import io.keyturn.v1.HelloResponse;
import io.keyturn.v1.Notice;
import io.keyturn.v1.Reply;
import io.keyturn.v1.SessionResponse;
import java.util.List;
import java.util.Set;

/**
 * One worker's session with a sidecar, over as many streams as it takes, one at a time. All of it is the loop's but {@link #ask}
 * and {@link #abandonLater}.
 *
 * <p>Calls are open from the moment they are asked until they are answered, whatever becomes of the streams: a new one says hello
 * with the same session id, settles which turns there are, and then every open call is sent again, in order. All of them may be:
 * tickets, item ids and tokens make the same call twice one call.
 */
final class Session {
    /** The longest pause between attempts to connect. */
    private static final long LONGEST_PAUSE = 2_000 * Clock.MS;
    /** Who is refused for one of these would be refused for ever. */
    private static final Set<Status.Code> FOR_GOOD = Set.of(
            Status.Code.UNIMPLEMENTED,
            Status.Code.UNAUTHENTICATED,
            Status.Code.PERMISSION_DENIED,
            Status.Code.INVALID_ARGUMENT,
            Status.Code.FAILED_PRECONDITION);

    /** How the session stands to its streams: it has one at a time, or none. */
    private enum Link {
        /** No stream, and nobody needs one. */
        IDLE,
        PAUSING,
        /** Hello is not answered yet. */
        GREETING,
        READY,
        /** Closed, or replaced: for good. */
        STOPPED
    }

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
    private final BackOff backOff = new BackOff(LONGEST_PAUSE);

    private Link link = Link.IDLE;
    private SessionStream stream;
    private long since;
    /** Calls are sent behind the hello, without waiting for its answer: there is nothing that it could settle. */
    private boolean piped;
    /** Until when turns were safe before this stream. */
    private long stopAtBefore;

    private long pausingUntil;
    private boolean proving;
    private boolean wasReady;
    private KeyturnException lastFailure;
    private volatile KeyturnException stopped;
    /** Nothing new is taken, and what is open is waited for. */
    private volatile boolean closing;
    /** It is being asked whether what was told last reached anybody. */
    private boolean isAsking;

    private TurnLoss stoppedLoss;

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

    /** Null: it goes on. From any thread. */
    KeyturnException stopped() {
        return stopped;
    }

    TurnLoss stoppedLoss() {
        return stoppedLoss;
    }

    /** From any thread. */
    void ask(WorkerCommand<?, ?> command) {
        KeyturnException refusal = stopped != null ? Failures.again(stopped) : calls.admit(command);
        if (refusal != null) {
            command.future.fail(refusal);
            return;
        }
        inbox.add(command);
    }

    /** From any thread: nobody waits for it any more. */
    void abandonLater(WorkerCommand<?, ?> command) {
        loop.tell(() -> {
            inbox.drain();
            calls.abandon(command, Failures.cancelled());
            tellAndFlush();
        });
    }

    /** From any thread: the answer came, but nobody waited for it any more when it was to be told. */
    <Q extends MessageLite, A extends MessageLite> void untoldLater(WorkerCommand<Q, A> command, A answer) {
        loop.tell(() -> {
            turns.untold(command, answer);
            flush();
        });
    }

    /** From any thread: its holder has come to the end. */
    void releaseLater(Held held) {
        loop.tell(() -> {
            if (turns.release(held)) flush();
        });
    }

    /** Calls the task when nothing is left of it. What may bring or end a turn is waited for. */
    void close(Runnable done) {
        inbox.drain();
        closing = true;
        if (!isAttached()) {
            if (link != Link.STOPPED) stop(Failures.closed(), TurnLoss.CLOSED);
            done.run();
            return;
        }
        farewell.begin(stream, this::leave, done);
        turns.loseAll(TurnLoss.CLOSED);
        calls.callOff(Failures.closed());
        tellAndFlush();
        leaveIfOver();
    }

    boolean isClosing() {
        return closing;
    }

    /** What was told last may have reached nobody: then its turns come back here first. */
    private void leaveIfOver() {
        if (!closing || isAsking || !isAttached() || calls.awaitOutcomes()) return;
        isAsking = true;
        callbacks.execute(() -> loop.tell(() -> {
            isAsking = false;
            inbox.drain();
            tellAndFlush();
            if (calls.awaitOutcomes()) return;
            leave();
        }));
    }

    private void leave() {
        if (!isAttached()) return;
        stop(Failures.closed(), TurnLoss.CLOSED);
        farewell.end();
    }

    private void take(WorkerCommand<?, ?> command) {
        if (link == Link.STOPPED || (closing && !command.kind.keepsOrEnds)) {
            calls.refuse(command, stopped == null ? Failures.closed() : Failures.again(stopped));
            return;
        }
        liveness.busy(command.askedAt);
        calls.add(command, isSendable());
        alarm.by(calls.firstDeadline());
    }

    private boolean isAttached() {
        return link == Link.GREETING || link == Link.READY;
    }

    private boolean isSendable() {
        return link == Link.READY || (link == Link.GREETING && piped);
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
        if (link == Link.IDLE && isWanted()) connect(now);
        else if (isAttached()) calls.flush(stream, now);
        arm();
    }

    private void connect(long now) {
        List<WorkerCommand<?, ?>> workers = calls.inOrder();
        piped = turns.tied() == 0 && workers.stream().noneMatch(command -> command.wasSent);
        since = now;
        stopAtBefore = liveness.stopAt();
        link = Link.GREETING;
        calls.clearOutbox();
        Handlers handlers = new Handlers();
        stream = new SessionStream(connection, handlers);
        handlers.of = stream;
        Hello.Builder hello = Hello.newBuilder()
                .setConsumerId(options.consumerId())
                .setSessionId(options.sessionId())
                .setTtl(Protos.duration(options.sessionTtl()));
        calls.askOwn(new OwnCommand(command -> command.setHello(hello), this::greeted));
        if (piped) calls.resend(workers);
        calls.flush(stream, now);
    }

    private final class Handlers implements SessionStream.Handlers {
        SessionStream of;

        private boolean isCurrent() {
            return isAttached() && stream == of;
        }

        @Override
        public void message(SessionResponse message) {
            if (isCurrent()) heard(message);
        }

        @Override
        public void ready() {
            if (isCurrent()) flush();
        }

        @Override
        public void ended(KeyturnException error) {
            if (isCurrent()) broke(error);
            else farewell.over();
        }
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
        link = Link.READY;
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
        for (Notice notice : message.getNoticesList()) turns.notice(notice);
        if (!isWanted()) liveness.idle();
        callbacks.flush();
        inbox.drain();
        flush();
        leaveIfOver();
    }

    /** The stream is of no use any more, for this reason. */
    private void broke(KeyturnException error) {
        if (!isAttached()) return;
        stream.destroy();
        if (closing) {
            stop(Failures.closed(), TurnLoss.CLOSED);
            farewell.over();
            return;
        }
        long now = Clock.now();
        // One that fails at once again and again is not a success.
        if (link == Link.READY && now - since >= LONGEST_PAUSE) backOff.reset();
        connection.forgetFailure();
        proving = false;
        calls.streamIsGone();
        if (error.reason().equals("SESSION_REPLACED")) {
            stop(error, TurnLoss.REPLACED);
            callbacks.flush();
            return;
        }
        lastFailure = error;
        link = Link.IDLE;
        if (FOR_GOOD.contains(error.code()) || Failures.isTlsForGood(error)) fail(error);
        if (isWanted()) {
            link = Link.PAUSING;
            pausingUntil = now + backOff.next(0);
        } else {
            liveness.idle();
        }
        callbacks.flush();
        arm();
    }

    /** Nothing that is asked now would come through. What is asked later may. */
    private void fail(KeyturnException error) {
        turns.loseAll(TurnLoss.UNREACHABLE);
        calls.refuseAll(error);
    }

    private void stop(KeyturnException error, TurnLoss loss) {
        link = Link.STOPPED;
        stoppedLoss = loss;
        stopped = error;
        alarm.off();
        turns.loseAll(loss);
        calls.close(error);
        inbox.drain();
        callbacks.flush();
    }

    private void wake() {
        long now = Clock.now();
        calls.expire(now, this::tooLate);
        boolean hasGivenUp = turns.tick(now, liveness.stopAt());
        // Should the stream be alive after all, the session would keep what was given up here: the next hello tells of it.
        if (hasGivenUp && link == Link.READY) broke(silent());
        else if (link == Link.PAUSING && now >= pausingUntil) link = Link.IDLE;
        else if (isAttached() && isWanted()) prove(now);
        tellAndFlush();
    }

    private void prove(long now) {
        if (now >= liveness.deadAt(since)) {
            broke(silent());
            return;
        }
        if (link != Link.READY || proving || now < liveness.proveAt()) return;
        proving = true;
        // It names no command: its answer is the proof.
        Cancel.Builder nothing = Cancel.newBuilder();
        calls.askOwn(new OwnCommand(command -> command.setCancel(nothing), reply -> proving = false));
    }

    private KeyturnException tooLate() {
        String why = lastFailure == null ? "" : ": " + lastFailure.getMessage();
        return Failures.of("no answer before the call's time-out" + why, Status.Code.DEADLINE_EXCEEDED);
    }

    private static KeyturnException silent() {
        return Failures.of("the sidecar does not answer", Status.Code.UNAVAILABLE);
    }

    private void arm() {
        if (link == Link.STOPPED) return;
        long next = Math.min(calls.firstDeadline(), turns.nextAt(liveness.stopAt()));
        if (link == Link.PAUSING) next = Math.min(next, pausingUntil);
        if (isAttached() && isWanted()) {
            next = Math.min(next, liveness.deadAt(since));
            if (link == Link.READY && !proving) next = Math.min(next, liveness.proveAt());
        }
        alarm.by(next);
    }
}
