package io.keyturn.client;

/** How long before the end of a life its holder is told to stop. */
final class Margin {
    private static final long LARGEST = 2_000 * Clock.MS;

    private Margin() {}

    /** @param wanted ns; negative: unset. A margin above half a life would leave no time to work. */
    static long of(long life, long wanted) {
        return wanted < 0 ? Math.min(life / 10, LARGEST) : Math.min(wanted, life / 2);
    }
}
