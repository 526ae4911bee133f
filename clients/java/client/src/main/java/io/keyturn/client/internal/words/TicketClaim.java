package io.keyturn.client.internal.words;

import java.util.List;

/** A ticket that may still lead to turns: of one key, or (empty) of any key of these queues. */
public record TicketClaim(List<String> queues, String key) {}
