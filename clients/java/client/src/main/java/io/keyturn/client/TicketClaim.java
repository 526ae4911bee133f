package io.keyturn.client;

import java.util.List;

/** A ticket that may still lead to turns: of one key, or (empty) of any key of these queues. */
record TicketClaim(List<String> queues, String key) {}
