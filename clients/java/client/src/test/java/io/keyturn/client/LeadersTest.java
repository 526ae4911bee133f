package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.keyturn.v1.GetLeaderRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Leaders: what the conformance suite cannot see from outside. */
@Tag("sidecar")
class LeadersTest {
    /** A sidecar that has just begun gives nobody a term before the longest ttl is over. */
    private static final LeadOptions SHORT = LeadOptions.builder().ttl(Duration.ofSeconds(1)).build();

    private static Sidecar sidecar;

    @BeforeAll
    static void begin() throws Exception {
        sidecar = Sidecar.start("");
    }

    @AfterAll
    static void end() throws Exception {
        sidecar.close();
    }

    private static LeaderTerm next(BlockingQueue<LeaderTerm> terms) throws InterruptedException {
        LeaderTerm term = terms.poll(Wait.SECONDS, TimeUnit.SECONDS);
        assertTrue(term != null, "it does not lead");
        return term;
    }

    @Test
    void whatIsWrongIsNamed() {
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            Map<String, Executable> wrongs = Map.of(
                    "group", () -> keyturn.lead("no such name", term -> {}),
                    "career", () -> keyturn.lead("g", null),
                    "options", () -> keyturn.lead("g", null, term -> {}),
                    "ttl", () -> LeadOptions.builder().ttl(Duration.ofMillis(1)),
                    "margin", () -> LeadOptions.builder().margin(Duration.ofMillis(-1)),
                    "inaugurateTimeout", () -> LeadOptions.builder().inaugurateTimeout(Duration.ZERO),
                    "handOverTimeout", () -> LeadOptions.builder().handOverTimeout(Duration.ofDays(2)),
                    "candidateId", () -> LeadOptions.builder().candidateId("x".repeat(257)),
                    "metadata", () -> LeadOptions.builder().metadata(Map.of("a", "x".repeat(9_000))));
            wrongs.forEach((name, wrong) -> {
                KeyturnException error = assertThrows(KeyturnException.class, wrong, name);
                assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
                assertTrue(error.getMessage().startsWith(name), error.getMessage());
            });
        }
    }

    @Test
    void theEndOfALeadershipHandsOverAndTheNextOneHasWhatWasLeft() throws Exception {
        BlockingQueue<LeaderTerm> terms = new LinkedBlockingQueue<>();
        LeaderCareer career = new LeaderCareer() {
            @Override
            public void execute(LeaderTerm term) throws Exception {
                terms.add(term);
                term.awaitStopping(Duration.ofMinutes(1));
            }

            @Override
            public byte[] handOver(LeaderTerm term, HandOverCause cause) {
                assertTrue(term.timeLeft().orElseThrow().compareTo(Duration.ofSeconds(10)) <= 0);
                return cause.name().getBytes();
            }
        };
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            Leadership first = keyturn.lead("ends", SHORT, career);
            LeaderTerm term = next(terms);
            assertEquals(term.number(), first.term().orElseThrow());
            first.close();
            assertTrue(first.term().isEmpty() && first.done().isDone());
            keyturn.lead("ends", SHORT, career);
            FormerLeader before = next(terms).predecessor();
            assertEquals(term.number(), before.term());
            assertEquals(FormerLeader.Ended.HANDED_OVER, before.ended());
            assertArrayEquals("YIELD".getBytes(), before.state());
            GetLeaderRequest asked = GetLeaderRequest.newBuilder().setGroup("ends").build();
            assertTrue(keyturn.leaders().getLeader(asked).hasLeader());
        }
    }

    @Test
    void aThreadIsInterruptedAtTheLossAloneAndAClientThatIsClosedDoesNotWaitForOneThatGoesOn() throws Exception {
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Keyturn keyturn = Keyturn.connect(sidecar.address());
        keyturn.lead("deaf", SHORT, term -> {
            begun.countDown();
            try {
                term.awaitStopping(Duration.ofMinutes(1));
                told.add("asked, lost: " + term.isLost());
                new CountDownLatch(1).await();
            } catch (InterruptedException loss) {
                told.add("lost: " + term.loss().orElseThrow());
                interrupted.countDown();
                release.await();
            }
        });
        Wait.forLatch(begun);
        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> keyturn.close(Duration.ofMillis(300)));
        Wait.forLatch(interrupted);
        closing.get(Wait.SECONDS, TimeUnit.SECONDS);
        release.countDown();
        assertEquals(List.of("asked, lost: false", "lost: CLOSED"), told);
        assertThrows(KeyturnException.class, () -> keyturn.lead("deaf", term -> {}));
    }

    @Test
    void aCareerMustNotWaitForItsOwnEndAndMayStopItself() throws Exception {
        CompletableFuture<Leadership> made = new CompletableFuture<>();
        List<Status.Code> refused = new ArrayList<>();
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            Leadership leadership = keyturn.lead("curious", SHORT, term -> {
                Leadership own = made.get();
                refused.add(assertThrows(KeyturnException.class, own::close).code());
                refused.add(assertThrows(KeyturnException.class, keyturn::close).code());
                own.yield();
                own.stop(Duration.ofSeconds(10));
            });
            made.complete(leadership);
            leadership.done().get(Wait.SECONDS, TimeUnit.SECONDS);
        }
        assertEquals(List.of(Status.Code.FAILED_PRECONDITION, Status.Code.FAILED_PRECONDITION), refused);
    }

    @Test
    void anErrorOfAnyKindIsAFailureOfItsPhase() throws Exception {
        BlockingQueue<LeaderTerm> terms = new LinkedBlockingQueue<>();
        CountDownLatch failed = new CountDownLatch(1);
        try (Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            keyturn.lead("fails", SHORT, term -> {
                failed.countDown();
                throw new StackOverflowError("deep");
            });
            Wait.forLatch(failed);
            keyturn.lead("fails", SHORT, term -> {
                terms.add(term);
                term.awaitStopping(Duration.ofMinutes(1));
            });
            assertEquals(FormerLeader.Ended.HANDED_OVER, next(terms).predecessor().ended());
        }
    }
}
