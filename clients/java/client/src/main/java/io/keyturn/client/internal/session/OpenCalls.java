package io.keyturn.client.internal.session;

import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.ClientSettings;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.v1.Cancel;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The calls of a session: open from the moment they are asked until they are answered, whatever becomes of the streams. What is
 * given up here is not forgotten while the sidecar may still answer it with a turn. All but {@link #admit} is the loop's.
 */
final class OpenCalls {
    /** Between two looks at the deadlines of all of them: one may be this late. */
    private static final long COARSE = 50 * Clock.MS;

    private final OpenCommands open;
    private final Outbox outbox;
    private final TurnKeeping turns;
    private long firstDeadline = Clock.NEVER;
    private boolean isOver;

    OpenCalls(ClientSettings options, Renewals renewals, LongSupplier margin) {
        this.open = new OpenCommands(options.openCommands(), options.openBytes());
        this.outbox = new Outbox(open);
        this.turns = new TurnKeeping(renewals, margin, this::askOwn);
    }

    TurnKeeping turns() {
        return turns;
    }

    /** From any thread: counts one more, or says what stands against it. */
    KeyturnException admit(WorkerCommand<?, ?> command) {
        return open.admit(command);
    }

    /** It was admitted, and is refused all the same. */
    void refuse(WorkerCommand<?, ?> command, KeyturnException error) {
        open.forget(command);
        command.abandon(error);
    }

    /** {@code isSendable}: there is a stream that takes it. */
    void add(WorkerCommand<?, ?> command, boolean isSendable) {
        open.add(command);
        if (isSendable) outbox.push(command);
        if (command.future.isDone()) abandon(command, Failures.cancelled());
        firstDeadline = Math.min(firstDeadline, command.deadline);
    }

    void askOwn(OwnCommand command) {
        if (isOver) return;
        open.add(command);
        outbox.pushUrgent(command);
    }

    /** There is something that a stream is needed for. */
    boolean areThereAny() {
        return open.workers() > 0;
    }

    List<WorkerCommand<?, ?>> inOrder() {
        return open.workersInOrder();
    }

    /** The one with this id, which is open no more; null: there is none. */
    OpenCommand take(int id) {
        return open.take(id);
    }

    /** Sends them again, in order. */
    void resend(List<WorkerCommand<?, ?>> commands) {
        for (WorkerCommand<?, ?> command : commands) outbox.push(command);
    }

    /** Writes as much as the stream takes. */
    void flush(SessionStream stream, long now) {
        outbox.flush(stream, now);
    }

    /** What was not written to the last stream is sent anew. */
    void clearOutbox() {
        outbox.clear();
    }

    /** Its caller waits for it no more, for this reason. */
    void abandon(WorkerCommand<?, ?> command, KeyturnException error) {
        if (!open.has(command)) return;
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

    long firstDeadline() {
        return firstDeadline;
    }

    /** Gives up those whose time is over. */
    void expire(long now, Supplier<KeyturnException> why) {
        if (now < firstDeadline) return;
        long next = Clock.NEVER;
        for (WorkerCommand<?, ?> command : open.workersInOrder()) {
            if (command.abandoned) continue;
            if (command.deadline <= now) abandon(command, why.get());
            else next = Math.min(next, command.deadline);
        }
        firstDeadline = next == Clock.NEVER ? next : Math.max(next, now + COARSE);
    }

    /** Forgets what belonged to the stream alone, and calls that nobody waits for, unless a turn would be kept for ever without them. */
    void streamIsGone() {
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

    /** None of them would come through. */
    void refuseAll(KeyturnException error) {
        for (WorkerCommand<?, ?> command : open.workersInOrder()) {
            open.remove(command);
            turns.done(command);
            command.abandon(Failures.again(error));
        }
    }

    /** A call whose outcome matters is open: it may bring a turn, or it ends one. */
    boolean awaitOutcomes() {
        if (open.workers() > 0) return true;
        for (OpenCommand command : open.all()) if (command instanceof OwnCommand own && own.givesBack) return true;
        return false;
    }

    /**
     * What waits is not left behind: its place would keep others from theirs, and nobody would come for it. What ends a turn may
     * come through.
     */
    void callOff(KeyturnException error) {
        for (WorkerCommand<?, ?> command : open.workersInOrder()) {
            if (command.kind.keepsOrEnds || command.abandoned) continue;
            if (command.isSent()) {
                abandon(command, Failures.again(error));
                continue;
            }
            open.remove(command);
            turns.done(command);
            command.abandon(Failures.again(error));
        }
    }

    /** The session has ended. */
    void close(KeyturnException error) {
        isOver = true;
        refuseAll(error);
        for (OpenCommand own : open.all()) open.remove(own);
        outbox.clear();
    }
}
