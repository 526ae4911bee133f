package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.keyturn.v1.GetClusterRequest;
import io.keyturn.v1.GetClusterResponse;
import io.keyturn.v1.ListQueuesRequest;
import io.keyturn.v1.ListQueuesResponse;
import io.keyturn.v1.QueueInfo;
import io.keyturn.v1.RetryNowRequest;
import io.keyturn.v1.RetryNowResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What an operator does, by the stub that `admin()` gives. */
@Tag("sidecar")
class AdminTest {
    @Test
    void queuesAreListedByPagesAndByTheirName() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            List<String> made = List.of("orders-0", "orders-1", "orders-2", "orders-3", "orders-4");
            for (String queue : made) keyturn.turn(queue, "k").complete();
            keyturn.turn("mails", "k").complete();
            List<String> found = new ArrayList<>();
            List<Integer> pages = new ArrayList<>();
            String token = "";
            do {
                ListQueuesResponse page = keyturn.admin().listQueues(ListQueuesRequest.newBuilder()
                        .setNameContains("orders")
                        .setPageSize(2)
                        .setPageToken(token)
                        .build());
                pages.add(page.getQueuesCount());
                for (QueueInfo queue : page.getQueuesList()) found.add(queue.getName());
                token = page.getNextPageToken();
            } while (!token.isEmpty());
            assertEquals(made, found);
            assertEquals(List.of(2, 2, 1), pages);
        }
    }

    @Test
    void anItemThatIsDelayedIsGivenOutWhenItIsRetriedNow() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            CompletableFuture<String> handled = new CompletableFuture<>();
            keyturn.consume("q", work -> handled.complete(work.item().text()));
            String id = keyturn.get(keyturn.submit("q", QueueItem.of("ada", "later").withDelay(Duration.ofHours(1)))).itemId();
            assertFalse(handled.isDone());
            RetryNowRequest now = RetryNowRequest.newBuilder().setQueue("q").setItemId(id).build();
            RetryNowResponse retried = keyturn.admin().retryNow(now);
            assertTrue(retried.getChanged());
            assertEquals(List.of("delay"), retried.getEndedList());
            assertEquals("later", handled.get(Wait.SECONDS, TimeUnit.SECONDS));
            // Of a key that nobody ever named: of this one it is not known whether its turn has ended by now.
            RetryNowRequest unknown = RetryNowRequest.newBuilder().setQueue("q").setKey("eve").build();
            StatusRuntimeException refused = assertThrows(StatusRuntimeException.class, () -> keyturn.admin().retryNow(unknown));
            assertEquals(Status.Code.NOT_FOUND, refused.getStatus().getCode());
        }
    }

    @Test
    void aSidecarThatStandsAloneSaysThatItHasNoCluster() throws Exception {
        try (Sidecar sidecar = Sidecar.start();
                Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            GetClusterRequest request = GetClusterRequest.getDefaultInstance();
            StatusRuntimeException refused = assertThrows(
                    StatusRuntimeException.class, () -> keyturn.admin().getCluster(request));
            assertEquals(Status.Code.FAILED_PRECONDITION, refused.getStatus().getCode());
            assertEquals("NO_CLUSTER", KeyturnException.of(refused).reason());
        }
    }

    @Test
    void aSidecarOfAClusterTellsItsMembersAndTheHomeOfEachPartition() throws Exception {
        try (Redis redis = Redis.start();
                Sidecar sidecar = Sidecar.start("store: " + redis.url() + "\ncluster: { name: told, partitions: 4 }\n");
                Keyturn keyturn = Keyturn.connect(sidecar.address())) {
            GetClusterRequest request = GetClusterRequest.getDefaultInstance();
            GetClusterResponse told = keyturn.admin().getCluster(request);
            // It listens before all of them are open, and others are told where within a look.
            while (!isWhole(told)) told = keyturn.admin().getCluster(request);
            assertEquals(List.of("told", redis.url()), List.of(told.getName(), told.getStore()));
            assertEquals(4, told.getPartitions());
            assertTrue(told.getFormat() >= 1, "format " + told.getFormat());
            assertEquals(
                    List.of(0, 1, 2, 3),
                    told.getHomesList().stream().map(home -> home.getPartition()).toList());
            assertEquals(1, told.getMembersCount());
            assertEquals(sidecar.address(), told.getMembers(0).getAddress());
            assertEquals(told.getMembers(0).getId(), told.getHomes(3).getMember());
            assertEquals(0, told.getUnavailableCount());
        }
    }

    private static boolean isWhole(GetClusterResponse told) {
        return told.getMembersList().stream().anyMatch(member -> member.getPartitions() == 4)
                && told.getHomesList().stream().allMatch(home -> home.getState().equals("open"));
    }
}
