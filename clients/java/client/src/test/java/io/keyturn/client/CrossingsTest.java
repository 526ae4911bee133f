package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keyturn.v1.LaneState;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a client that is closed leaves of turns that somebody works on. */
@Tag("sidecar")
final class CrossingsTest {
    private static Keyturn connect(Sidecar sidecar, KeyturnOptions.TransportKind transport) {
        KeyturnOptions.Builder options = KeyturnOptions.builder().transport(transport).sessionTtl(Duration.ofMinutes(10));
        return Keyturn.connect(sidecar.address(), options.build());
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void aScopedTurnWhoseHandlerEndsWhenItIsToldToGoesBackAsItsClientCloses(KeyturnOptions.TransportKind transport)
            throws Exception {
        try (Sidecar sidecar = Sidecar.start("default: { lease: 600s }");
                Keyturn other = Keyturn.connect(sidecar.address())) {
            Keyturn keyturn = connect(sidecar, transport);
            CountDownLatch begun = new CountDownLatch(1);
            CompletableFuture<Throwable> ended = CompletableFuture.supplyAsync(() -> assertThrows(
                    TurnLostException.class, () -> keyturn.withTurnChecked("q", "k", turn -> {
                        begun.countDown();
                        new CountDownLatch(1).await();
                        return 1;
                    })));
            Wait.forLatch(begun);
            keyturn.close();
            assertEquals(TurnLoss.CLOSED, ((TurnLostException) ended.get()).loss());
            assertEquals(LaneState.LANE_STATE_INIT, Wait.explain(other, "q", "k").getState());
        }
    }

    @ParameterizedTest
    @EnumSource(KeyturnOptions.TransportKind.class)
    void whoClosesDoesNotWaitForATurnOfHisOwn(KeyturnOptions.TransportKind transport) throws Exception {
        try (Sidecar sidecar = Sidecar.start()) {
            Keyturn keyturn = connect(sidecar, transport);
            ScopedTurn turn = keyturn.turn("q", "k", TurnOptions.builder().interrupts(false).build());
            keyturn.close();
            assertThrows(TurnLostException.class, turn::close);
        }
    }
}
