package io.keyturn.client;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Threads that stand in a line with a ticket of the client's own: when it is closed nobody will call again with that. */
final class Waiting {
    /** How long they may take to leave their lines; then their places are left to their ttl. */
    private static final long LEAVING = 1_000 * Clock.MS;

    private final Set<Claim> claims = new HashSet<>();

    synchronized void add(Claim claim) {
        claims.add(claim);
    }

    synchronized void remove(Claim claim) {
        claims.remove(claim);
        if (claims.isEmpty()) notifyAll();
    }

    private synchronized List<Claim> all() {
        return List.copyOf(claims);
    }

    /** While the sidecar can still be told. Returns when all have left, or their time is over. An interrupt stays set. */
    void callOff() {
        for (Claim claim : all()) claim.callOff();
        try {
            awaitNobody(Clock.after(Clock.now(), LEAVING));
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void awaitNobody(long end) throws InterruptedException {
        for (long left = end - Clock.now(); !claims.isEmpty() && left > 0; left = end - Clock.now())
            wait(left / Clock.MS + 1);
    }
}
