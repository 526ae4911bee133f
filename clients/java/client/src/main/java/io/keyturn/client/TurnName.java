package io.keyturn.client;

/** A turn by what finds it. */
record TurnName(String queue, long token) {}
