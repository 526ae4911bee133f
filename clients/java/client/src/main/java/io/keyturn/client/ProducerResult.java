package io.keyturn.client;

import java.util.Optional;

/**
 * What became of an item that was added to a producer.
 *
 * @param itemId its id
 * @param result what the sidecar decided; empty: it is safe on disk until it can be handed over
 */
public record ProducerResult(String itemId, Optional<SubmitOutcome> result) {
    /**
     * Whether it is on disk, because the sidecar could not be reached.
     *
     * @return false: the sidecar has decided
     */
    public boolean spooled() {
        return result.isEmpty();
    }
}
