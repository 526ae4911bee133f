package io.keyturn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a call says whose time is over, by what the channel says of it: whether it waited for a connection or for an answer. */
final class OverdueTest {
    private static final String OVERDUE = "no answer before the call's time-out";

    // All of them were seen. The call began too late: with a connection that says nothing of it.
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    deadline exceeded after 0.9s. [buffered_nanos=9, waiting_for_connection]      | false | true
                    deadline exceeded after 0.9s. [buffered_nanos=9, waiting_for_connection]      | true  | true
                    Deadline CallOptions was exceeded after 0.9s                                  | false | true
                    ClientCall started after CallOptions deadline was exceeded -0.1 seconds ago.  | false | true
                    ClientCall started after CallOptions deadline was exceeded -0.1 seconds ago.  | true  | false
                    CallOptions deadline exceeded after 0.9s. [remote_addr=127.0.0.1:7411]        | true  | false
                    """)
    void aCallThatIsOverdueSaysWhetherItWaitedForAConnection(String description, boolean hasStood, boolean isNotThere) {
        Status status = Status.DEADLINE_EXCEEDED.withDescription(description);
        KeyturnException error = TlsWords.explained(status, "127.0.0.1:7411", null, hasStood, null);
        assertEquals(isNotThere ? OVERDUE + ": cannot reach 127.0.0.1:7411: no answer yet" : OVERDUE, error.getMessage());
        assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
    }
}
