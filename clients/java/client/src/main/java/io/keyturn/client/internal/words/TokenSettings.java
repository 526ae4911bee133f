package io.keyturn.client.internal.words;

import java.nio.file.Path;
import java.util.concurrent.Callable;

/**
 * Who asks: one of these is there. No error, and no text, shows the token.
 *
 * @param text null: the token is somewhere else
 * @param file null: it is in none
 * @param function null: nobody gives it
 */
public record TokenSettings(String text, Path file, Callable<String> function) {
    private static final int LONGEST = 8_192;

    public static TokenSettings of(String text) {
        return new TokenSettings(checked("token", text), null, null);
    }

    public static TokenSettings of(Path file) {
        return new TokenSettings(null, Checks.needed("tokenFile", file), null);
    }

    public static TokenSettings of(Callable<String> function) {
        return new TokenSettings(null, null, Checks.needed("tokenFrom", function));
    }

    /** What HTTP lets through in a header, without spaces; else an exception that does not show it. */
    public static String checked(String name, String token) {
        if (Checks.needed(name, token).length() > LONGEST) {
            throw Failures.wrong(name + " has more than " + LONGEST + " characters, which is the most that is allowed");
        }
        if (token.isEmpty() || token.chars().anyMatch(one -> one < '!' || one > '~')) {
            throw Failures.wrong(name + " is empty, or has a space or a character beyond ASCII; "
                    + "needed is a token as \"keyturn token new\" prints it");
        }
        return token;
    }

    @Override
    public String toString() {
        return text != null ? "a text" : file != null ? "file " + file : "a function";
    }
}
