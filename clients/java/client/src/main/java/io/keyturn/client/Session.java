package io.keyturn.client;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.keyturn.v1.Cancel;
import io.keyturn.v1.Hello;
import io.keyturn.v1.HelloResponse;
import io.keyturn.v1.Notice;
import io.keyturn.v1.Reply;
import io.keyturn.v1.SessionResponse;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One worker's session with a sidecar, over as many streams as it takes, one at a time. All of it is the loop's but {@link #ask}
 * and {@link #abandonLater}.
 *
 * <p>Calls are open from the moment they are asked until they are answered, whatever becomes of the streams: a new one says hello
 * with the same session id, settles which turns there are, and then every open call is sent again, in order. All of them may be:
 * tickets, item ids and tokens make the same call twice one call.
 */
final class Session {
    /** How long the sidecar may take to end the stream of a client that was closed. */
    private static final long FAREWELL = 1_000 * Clock.MS;
    /** The longest pause between attempts to connect. */
    private static final long LONGEST_PAUSE = 2_000 * Clock.MS;
    /** Between two looks at the deadlines of all open calls: one may be this late. */
    private static final long COARSE = 50 * Clock.MS;
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

    private final KeyturnOptions options;
    private final Connection connection;
    private final Loop loop;
    private final Callbacks callbacks;
    private final OpenCommands open;
    private final Outbox outbox;
    private final Liveness liveness;
    private final TurnKeeping turns;
    private final BackOff backOff = new BackOff(LONGEST_PAUSE);
    private final ConcurrentLinkedQueue<WorkerCommand<?, ?>> incoming = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean draining = new AtomicBoolean();

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
    private long firstDeadline = Clock.NEVER;
    private KeyturnException lastFailure;
    private volatile KeyturnException stopped;
    private TurnLoss stoppedLoss;
    private ScheduledFuture<?> alarm;
    private long alarmAt = Clock.NEVER;
    private Runnable farewell = () -> {};

    Session(KeyturnOptions options, Connection connection, Renewals renewals) {
        this.options = options;
        this.connection = connection;
        this.loop = connection.loop();
        this.callbacks = connection.callbacks();
        this.open = new OpenCommands(options.openCommands(), options.openBytes());
        this.outbox = new Outbox(open);
        long margin = options.margin() == null ? -1 : Clock.nanos(options.margin());
        this.liveness = new Liveness(Clock.nanos(options.sessionTtl()), margin);
        this.turns = new TurnKeeping(renewals, this::askOwn);
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
        KeyturnException refusal = stopped != null ? Failures.again(stopped) : open.admit(command);
        if (refusal != null) {
            command.future.fail(refusal);
            return;
        }
        incoming.add(command);
        // What is asked while answers are told is sent together, when all of them are.
        if (callbacks.isCurrent()) callbacks.afterBatch(this::drainLater);
        else drainLater();
    }

    /** From any thread: nobody waits for it any more. */
    void abandonLater(WorkerCommand<?, ?> command) {
        loop.tell(() -> {
            drain();
            if (open.has(command)) abandon(command, Failures.cancelled());
            callbacks.flush();
            flush();
        });
    }

    /** From any thread: the answer came, but nobody waited for it any more when it was to be told. */
    <Q extends MessageLite, A extends MessageLite> void untoldLater(WorkerCommand<Q, A> command, A answer) {
        loop.tell(() -> {
            turns.untold(command, answer);
            flush();
        });
    }

    /** Calls the task when nothing is left of it. */
    void close(Runnable done) {
        if (link == Link.STOPPED) {
            done.run();
            return;
        }
        drain();
        SessionStream last = isAttached() ? stream : null;
        boolean inPeace = last != null && open.workers() == 0;
        if (inPeace) outbox.flush(last, Clock.now());
        stop(Failures.closed(), TurnLoss.CLOSED);
        if (!inPeace) {
            if (last != null) last.destroy();
            done.run();
            return;
        }
        ScheduledFuture<?> late = loop.after(FAREWELL, () -> farewell.run());
        farewell = () -> {
            farewell = () -> {};
            late.cancel(false);
            last.destroy();
            done.run();
        };
        last.end();
    }

    private void drainLater() {
        if (!draining.compareAndSet(false, true)) return;
        try {
            loop.execute(() -> {
                drain();
                callbacks.flush();
                flush();
            });
        } catch (RejectedExecutionException closed) {
            for (WorkerCommand<?, ?> left = incoming.poll(); left != null; left = incoming.poll()) {
                left.future.fail(Failures.closed());
            }
        }
    }

    private void drain() {
        draining.set(false);
        for (WorkerCommand<?, ?> next = incoming.poll(); next != null; next = incoming.poll()) take(next);
    }

    private void take(WorkerCommand<?, ?> command) {
        if (link == Link.STOPPED) {
            open.forget(command);
            command.abandon(Failures.again(stopped));
            return;
        }
        open.add(command);
        liveness.busy(command.askedAt);
        if (isSendable()) outbox.push(command);
        if (command.future.isDone()) abandon(command, Failures.cancelled());
        firstDeadline = Math.min(firstDeadline, command.deadline);
        alarmBy(firstDeadline);
    }

    private boolean isAttached() {
        return link == Link.GREETING || link == Link.READY;
    }

    private boolean isSendable() {
        return link == Link.READY || (link == Link.GREETING && piped);
    }

    /** There is something that a stream is needed for. */
    private boolean isWanted() {
        return open.workers() > 0 || turns.tied() > 0;
    }

    private void askOwn(OwnCommand command) {
        if (link == Link.STOPPED) return;
        open.add(command);
        outbox.pushUrgent(command);
    }

    private void flush() {
        long now = Clock.now();
        if (link == Link.IDLE && isWanted()) connect(now);
        else if (isAttached()) outbox.flush(stream, now);
        arm();
    }

    private void connect(long now) {
        List<WorkerCommand<?, ?>> workers = open.workersInOrder();
        piped = turns.tied() == 0 && workers.stream().noneMatch(command -> command.wasSent);
        since = now;
        stopAtBefore = liveness.stopAt();
        link = Link.GREETING;
        outbox.clear();
        Handlers handlers = new Handlers();
        stream = connection.openStream(handlers);
        handlers.of = stream;
        Hello.Builder hello = Hello.newBuilder()
                .setConsumerId(options.consumerId())
                .setSessionId(options.sessionId())
                .setTtl(Protos.duration(options.sessionTtl()));
        askOwn(new OwnCommand(command -> command.setHello(hello), this::greeted));
        if (piped) for (WorkerCommand<?, ?> command : workers) outbox.push(command);
        outbox.flush(stream, now);
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
            else farewell.run();
        }
    }

    private void greeted(Reply reply) {
        if (!reply.hasHello()) {
            broke(
                    reply.hasError()
                            ? Failures.ofCommand(reply.getError())
                            : new KeyturnException("the sidecar does not answer hello", Status.Code.UNIMPLEMENTED));
            return;
        }
        HelloResponse hello = reply.getHello();
        if (hello.hasTtl()) liveness.ttl(Clock.nanos(hello.getTtl()));
        List<WorkerCommand<?, ?>> workers = open.workersInOrder();
        link = Link.READY;
        lastFailure = null;
        if (wasReady) callbacks.add(options.metrics()::reconnected);
        wasReady = true;
        // What it gives back goes before what is sent again, which may be about the same keys.
        turns.attached(hello.getTurnsList(), workers, stopAtBefore);
        if (!piped) for (WorkerCommand<?, ?> command : workers) outbox.push(command);
    }

    private void heard(SessionResponse message) {
        for (Reply reply : message.getRepliesList()) {
            OpenCommand command = open.take(reply.getId());
            if (command == null) continue;
            liveness.proved(command.sentAt());
            command.answered(reply);
            if (command instanceof WorkerCommand<?, ?> worker) turns.done(worker);
        }
        // After the replies: the turn that a notice is about may have been given by one of them.
        for (Notice notice : message.getNoticesList()) turns.notice(notice);
        if (!isWanted()) liveness.idle();
        callbacks.flush();
        drain();
        flush();
    }

    /** The stream is of no use any more, for this reason. */
    private void broke(KeyturnException error) {
        if (!isAttached()) return;
        stream.destroy();
        long now = Clock.now();
        // One that fails at once again and again is not a success.
        if (link == Link.READY && now - since >= LONGEST_PAUSE) backOff.reset();
        connection.forgetFailure();
        forgetStream();
        if (error.reason().equals("SESSION_REPLACED")) {
            stop(error, TurnLoss.REPLACED);
            callbacks.flush();
            return;
        }
        lastFailure = error;
        link = Link.IDLE;
        if (FOR_GOOD.contains(error.code())) fail(error);
        if (isWanted()) {
            link = Link.PAUSING;
            pausingUntil = now + backOff.next(0);
        } else {
            liveness.idle();
        }
        callbacks.flush();
        arm();
    }

    /** What belonged to the stream alone, and calls that nobody waits for, unless a turn would be kept for ever without them. */
    private void forgetStream() {
        proving = false;
        outbox.clear();
        turns.detached();
        for (OpenCommand command : open.all()) {
            if (command instanceof WorkerCommand<?, ?> worker && (!worker.abandoned || turns.isEndedBy(worker))) {
                worker.unsent();
            } else {
                open.remove(command);
            }
        }
    }

    /** Nothing that is asked now would come through. What is asked later may. */
    private void fail(KeyturnException error) {
        turns.loseAll(TurnLoss.UNREACHABLE);
        for (WorkerCommand<?, ?> command : open.workersInOrder()) {
            open.remove(command);
            turns.done(command);
            command.abandon(Failures.again(error));
        }
    }

    private void stop(KeyturnException error, TurnLoss loss) {
        link = Link.STOPPED;
        stoppedLoss = loss;
        stopped = error;
        if (alarm != null) alarm.cancel(false);
        turns.loseAll(loss);
        for (OpenCommand command : open.all()) {
            open.remove(command);
            if (command instanceof WorkerCommand<?, ?> worker) {
                turns.done(worker);
                worker.abandon(Failures.again(error));
            }
        }
        outbox.clear();
        drain();
        callbacks.flush();
    }

    private void abandon(WorkerCommand<?, ?> command, KeyturnException error) {
        command.abandon(error);
        if (command.isSent()) {
            // It stays open until the sidecar has answered it, in one way or the other: its id is taken, and it may bring a turn.
            Cancel.Builder cancel = Cancel.newBuilder().setId(command.id).setLeave(command.leave);
            askOwn(new OwnCommand(builder -> builder.setCancel(cancel), reply -> {}));
            return;
        }
        if (turns.isEndedBy(command)) return;
        open.remove(command);
        turns.done(command);
    }

    private void wake() {
        alarmAt = Clock.NEVER;
        long now = Clock.now();
        if (now >= firstDeadline) expire(now);
        boolean hasGivenUp = turns.tick(now, liveness.stopAt());
        // Should the stream be alive after all, the session would keep what was given up here: the next hello tells of it.
        if (hasGivenUp && link == Link.READY) broke(silent());
        else if (link == Link.PAUSING && now >= pausingUntil) link = Link.IDLE;
        else if (isAttached() && isWanted()) prove(now);
        callbacks.flush();
        flush();
    }

    private void expire(long now) {
        long next = Clock.NEVER;
        for (WorkerCommand<?, ?> command : open.workersInOrder()) {
            if (command.abandoned) continue;
            if (command.deadline <= now) abandon(command, tooLate());
            else next = Math.min(next, command.deadline);
        }
        firstDeadline = next == Clock.NEVER ? next : Math.max(next, now + COARSE);
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
        askOwn(new OwnCommand(command -> command.setCancel(nothing), reply -> proving = false));
    }

    private KeyturnException tooLate() {
        String why = lastFailure == null ? "" : ": " + lastFailure.getMessage();
        return new KeyturnException("no answer before the call's time-out" + why, Status.Code.DEADLINE_EXCEEDED);
    }

    private static KeyturnException silent() {
        return new KeyturnException("the sidecar does not answer", Status.Code.UNAVAILABLE);
    }

    private void arm() {
        if (link == Link.STOPPED) return;
        long next = Math.min(firstDeadline, turns.nextAt(liveness.stopAt()));
        if (link == Link.PAUSING) next = Math.min(next, pausingUntil);
        if (isAttached() && isWanted()) {
            next = Math.min(next, liveness.deadAt(since));
            if (link == Link.READY && !proving) next = Math.min(next, liveness.proveAt());
        }
        alarmBy(next);
    }

    /** One timer for all: cheap when it is set for an earlier moment already. */
    private void alarmBy(long at) {
        if (at >= alarmAt || link == Link.STOPPED) return;
        if (alarm != null) alarm.cancel(false);
        alarmAt = at;
        alarm = loop.after(at - Clock.now(), this::wake);
    }
}
