package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.KeyturnOptions.TransportKind;
import io.keyturn.v1.AcquireRequest;
import io.keyturn.v1.AcquireResponse;
import io.keyturn.v1.EnQueueRequest;
import io.keyturn.v1.EnQueueResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Thousands of calls that are cancelled at once: a server of Node 20 closes a connection on which about a thousand streams were reset. */
@Tag("sidecar")
class CancelledCallsTest {
    private static final int CANCELLED = 5_000;
    private static final int OTHERS = 200;

    private static EnQueueRequest waits(String key) {
        return EnQueueRequest.newBuilder()
                .setQueue("q")
                .setKey(key)
                .setWait(Protos.duration(Duration.ofMinutes(4)))
                .build();
    }

    @ParameterizedTest
    @EnumSource
    void costNobodyElseOfTheirConnectionHisCall(TransportKind transport) throws Exception {
        KeyturnOptions options =
                KeyturnOptions.builder().transport(transport).openCommands(20_000).build();
        try (Sidecar sidecar = Sidecar.start();
                Keyturn holder = Keyturn.connect(sidecar.address());
                Keyturn keyturn = Keyturn.connect(sidecar.address(), options)) {
            TurnOptions quiet = TurnOptions.builder().interrupts(false).build();
            List<ScopedTurn> held = new ArrayList<>();
            List<CompletableFuture<EnQueueResponse>> others = new ArrayList<>();
            for (int n = 0; n < OTHERS; n++) {
                held.add(holder.turn("q", "other-" + n, quiet));
                others.add(keyturn.enQueue(waits("other-" + n)));
            }
            List<CompletableFuture<AcquireResponse>> cancelled = new ArrayList<>();
            AcquireRequest acquire = AcquireRequest.newBuilder()
                    .addQueues("empty")
                    .setWait(Protos.duration(Duration.ofMinutes(4)))
                    .build();
            for (int n = 0; n < CANCELLED; n++) cancelled.add(keyturn.acquire(acquire, CallSettings.DEFAULT));
            keyturn.get(keyturn.enQueue(waits("after")));
            List<CompletableFuture<EnQueueResponse>> meanwhile = new ArrayList<>();
            for (int n = 0; n < CANCELLED; n++) {
                cancelled.get(n).cancel(true);
                if (n % 5 == 0) meanwhile.add(keyturn.enQueue(waits("free-" + n)));
            }
            for (CompletableFuture<EnQueueResponse> one : meanwhile) assertTrue(keyturn.get(one).hasTurn());
            long open = others.stream().filter(one -> !one.isDone()).count();
            assertEquals(OTHERS, open);
            for (ScopedTurn one : held) one.complete();
            for (CompletableFuture<EnQueueResponse> one : others) assertTrue(one.get(Wait.SECONDS, TimeUnit.SECONDS).hasTurn());
        }
    }
}
