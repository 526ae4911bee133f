package io.keyturn.client.internal.words;

import io.keyturn.client.DeadLetterException;
import io.keyturn.client.GivenBackException;
import io.keyturn.client.ReleaseException;
import io.keyturn.v1.NackKind;
import io.keyturn.v1.NackRequest;
import io.keyturn.v1.Turn;
import io.keyturn.v1.TurnRef;
import java.nio.charset.StandardCharsets;

/** What is said of a turn that somebody has. */
public final class TurnRequests {
    /** The most turns that one Renew may name. */
    public static final int MOST_RENEWED = 1_000;

    /** What a Nack may say, bytes of UTF-8. */
    private static final int LONGEST_ERROR = 8_192;

    private static final String SILENT = "the worker was silent for longer than its session lives";

    private TurnRequests() {}

    public static TurnRef refOf(Turn turn) {
        return TurnRef.newBuilder()
                .setQueue(turn.getQueue())
                .setKey(turn.getKey())
                .setToken(turn.getToken())
                .build();
    }

    public static NackRequest.Builder nack(TurnRef turn, NackKind kind) {
        return NackRequest.newBuilder()
                .setQueue(turn.getQueue())
                .setKey(turn.getKey())
                .setToken(turn.getToken())
                .setKind(kind);
    }

    /** As if it had not been given. */
    public static NackRequest release(TurnRef turn) {
        return nack(turn, NackKind.NACK_KIND_RELEASE).build();
    }

    /** A failed attempt, in the words of a sidecar that does not hear of the worker of a turn. */
    public static NackRequest silent(TurnRef turn) {
        return nack(turn, NackKind.NACK_KIND_RETRY).setError(SILENT).build();
    }

    /** The same turn, as if it had not been given. */
    public static NackRequest released(NackRequest request) {
        return request.toBuilder().setKind(NackKind.NACK_KIND_RELEASE).clearError().build();
    }

    /** How the items go back that a handler gave back. */
    public static NackKind kindOf(GivenBackException wish) {
        if (wish instanceof DeadLetterException) return NackKind.NACK_KIND_DEAD_LETTER;
        return wish instanceof ReleaseException ? NackKind.NACK_KIND_RELEASE : NackKind.NACK_KIND_RETRY;
    }

    /** As much of it as a Nack may say. */
    public static String shortened(String error) {
        byte[] bytes = error.getBytes(StandardCharsets.UTF_8);
        if (bytes.length <= LONGEST_ERROR) return error;
        int end = LONGEST_ERROR;
        // Not in the middle of a character.
        while ((bytes[end] & 0xC0) == 0x80) end--;
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }
}
