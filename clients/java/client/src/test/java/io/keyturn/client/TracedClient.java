package io.keyturn.client;

import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A client that traces, with an SDK that keeps what it is told, and the sidecar that it talks to. */
abstract class TracedClient {
    static Sidecar sidecar;
    Spans spans;
    Keyturn keyturn;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start("queues: { once: { idempotency_ttl: 1m }, single: { retry: { max_attempts: 1 } },"
                + " fast: { retry: { initial: 10ms, max: 20ms, max_attempts: 3 } } }");
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    @BeforeEach
    void listen() {
        spans = new Spans();
        keyturn = spans.connect(sidecar);
    }

    @AfterEach
    void close() {
        keyturn.close(Duration.ZERO);
        spans.close();
    }
}
