package io.keyturn.client.internal.lead;

import io.keyturn.client.HandOverCause;

/** What the application does in each phase. */
public interface Career {
    void inaugurate(Term term) throws Exception;

    void execute(Term term) throws Exception;

    /** Null: nothing is left. */
    byte[] handOver(Term term, HandOverCause cause) throws Exception;
}
