package io.keyturn.client.internal.words;

import java.security.SecureRandom;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** Makes ids that are unique everywhere: 120 random bits that belong to the maker, and a count. For any thread. */
public final class Ids implements Supplier<String> {
    private final String origin;
    private final AtomicLong count = new AtomicLong();

    public Ids() {
        byte[] random = new byte[15];
        new SecureRandom().nextBytes(random);
        origin = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    }

    @Override
    public String get() {
        return origin + "." + Long.toString(count.incrementAndGet(), Character.MAX_RADIX);
    }
}
