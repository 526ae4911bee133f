package io.keyturn.client;

import io.grpc.Status;
import io.keyturn.client.internal.words.Failures;
import java.nio.file.Path;

/** What went wrong with a spool, told with the file it concerns. */
public final class SpoolException extends KeyturnException {
    private static final long serialVersionUID = 1;

    /** What can go wrong. */
    public enum Problem {
        /** Another process, or another producer of this one, has the directory. */
        IN_USE,
        /** The directory has items of another queue. */
        OTHER_QUEUE,
        /** A segment is not what was written; nothing was skipped. */
        DAMAGED,
        /** The last record was cut off when the process or the machine ended; it was never confirmed, and was cut away. */
        TORN,
        /** The item does not fit into the spool, empty or not. */
        TOO_LARGE,
        /** The file system failed. */
        IO
    }

    /** What went wrong. */
    private final Problem problem;
    private final transient Path file;

    SpoolException(Problem problem, Path file, String what, Throwable cause) {
        super(file + ": " + what + (cause == null ? "" : ": " + Failures.messageOf(cause)), codeOf(problem), cause);
        this.problem = problem;
        this.file = file;
    }

    private static Status.Code codeOf(Problem problem) {
        return switch (problem) {
            case IN_USE, OTHER_QUEUE -> Status.Code.FAILED_PRECONDITION;
            case DAMAGED, TORN -> Status.Code.DATA_LOSS;
            case TOO_LARGE -> Status.Code.INVALID_ARGUMENT;
            case IO -> Status.Code.UNKNOWN;
        };
    }

    /**
     * What went wrong.
     *
     * @return the problem
     */
    public Problem problem() {
        return problem;
    }

    /**
     * Which file or directory it concerns.
     *
     * @return its path
     */
    public Path file() {
        return file;
    }
}
