package io.keyturn.client.internal.words;

/** Where an error comes from, as text for the log. */
public final class Stacks {
    /** Characters: a stack with its causes may be endless. */
    private static final int LONGEST = 2_000;
    /** Of each of them: the causes behind it say more than what called it. */
    private static final int FRAMES = 8;

    private Stacks() {}

    /** Type and stack, with its causes; at most 2,000 characters. Its own message is not in it. */
    public static String of(Throwable error) {
        StringBuilder text = new StringBuilder();
        try {
            append(text, error);
        } catch (RuntimeException | Error unspeakable) {
            // An application's exception may be anything. What is there is shown.
            text.append(" (the rest cannot be read)");
        }
        return text.length() <= LONGEST ? text.toString() : text.substring(0, LONGEST) + "…";
    }

    private static void append(StringBuilder text, Throwable error) {
        text.append(error.getClass().getName());
        for (Throwable one = error; one != null && text.length() <= LONGEST; one = one.getCause()) {
            if (one != error) {
                String message = Failures.messageOf(one);
                text.append("\nCaused by: ").append(one.getClass().getName());
                text.append(": ").append(message, 0, Math.min(message.length(), LONGEST));
            }
            StackTraceElement[] frames = one.getStackTrace();
            for (int at = 0; at < Math.min(frames.length, FRAMES); at++) text.append("\n\tat ").append(frames[at]);
        }
    }
}
