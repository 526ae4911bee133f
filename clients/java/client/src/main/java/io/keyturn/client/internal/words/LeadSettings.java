package io.keyturn.client.internal.words;

import java.time.Duration;
import java.util.Map;

/** Of a candidacy. {@code candidateId}: empty: one is made; {@code margin}: null: a tenth of the ttl, at most 2 s. */
public record LeadSettings(
        String candidateId,
        Duration ttl,
        Duration margin,
        Duration inaugurateTimeout,
        Duration handOverTimeout,
        Map<String, String> metadata,
        boolean isManual,
        boolean once,
        boolean interrupts) {
    private static final long LARGEST_MARGIN = 2_000 * Clock.MS;

    public LeadSettings identified(String id) {
        return candidateId.isEmpty()
                ? new LeadSettings(
                        id, ttl, margin, inaugurateTimeout, handOverTimeout, metadata, isManual, once, interrupts)
                : this;
    }

    /** How long before the end of a term its worker is told to stop, ns. */
    public long marginOf(long ttl) {
        return margin == null ? Math.min(ttl / 10, LARGEST_MARGIN) : Math.min(Clock.nanos(margin), ttl / 10 * 8);
    }
}
