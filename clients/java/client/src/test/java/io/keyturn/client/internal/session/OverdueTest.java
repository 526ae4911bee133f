package io.keyturn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a call says whose time is over: whether it waited for a connection or for an answer. */
final class OverdueTest {
    private static final String ADDRESS = "127.0.0.1:7411";

    private static KeyturnException explained(String description) {
        return TlsWords.explained(Status.DEADLINE_EXCEEDED.withDescription(description), ADDRESS, null, false, null);
    }

    // Both were seen: the second one when the time was over between two tries of the channel to connect.
    @ParameterizedTest
    @ValueSource(
            strings = {
                "deadline exceeded after 0.99s. [buffered_nanos=99, waiting_for_connection]",
                "ClientCall started after CallOptions deadline was exceeded -0.0001 seconds ago. Name resolution delay 0.0 seconds."
            })
    void aCallThatWasNotSentNamesTheAddress(String description) {
        KeyturnException error = explained(description);
        assertEquals("no answer before the call's time-out: cannot reach 127.0.0.1:7411: no answer yet", error.getMessage());
        assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
    }

    @Test
    void aCallThatWasSentIsOverdueForAnotherReason() {
        assertNull(explained("deadline exceeded after 0.99s. [remote_addr=127.0.0.1:7411]"));
    }
}
