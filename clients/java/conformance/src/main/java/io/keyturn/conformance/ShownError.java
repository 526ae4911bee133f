package io.keyturn.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.keyturn.client.ItemFailedException;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.ProducerClosedException;
import io.keyturn.client.ProducerFullException;
import io.keyturn.client.ProducerTimeoutException;
import io.keyturn.client.SpoolException;
import io.keyturn.client.SubmitManyException;
import io.keyturn.client.TurnLostException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Errors of the client in the words of the protocol. */
final class ShownError {
    private ShownError() {}

    static JsonObject of(Throwable thrown) {
        Throwable error = thrown;
        while ((error instanceof CompletionException || error instanceof ExecutionException) && error.getCause() != null) {
            error = error.getCause();
        }
        JsonObject shown = Shown.with("kind", kindOf(error));
        shown.addProperty("message", error.getMessage() == null ? error.toString() : error.getMessage());
        if (error instanceof CancellationException) shown.addProperty("code", "CANCELLED");
        boolean isCall = error instanceof SubmitManyException || kindOf(error).equals("call") || error instanceof TurnLostException;
        if (isCall && error instanceof KeyturnException call) details(shown, call);
        if (error instanceof ItemFailedException failed) shown.addProperty("state", Shown.word(failed.state(), ""));
        if (error instanceof SpoolException spool) shown.addProperty("reason", Shown.word(spool.problem(), ""));
        return shown;
    }

    private static String kindOf(Throwable error) {
        if (error instanceof TurnLostException) return "turn_lost";
        if (error instanceof ItemFailedException) return "item_failed";
        if (error instanceof ProducerFullException) return "producer_full";
        if (error instanceof ProducerTimeoutException) return "producer_timeout";
        if (error instanceof ProducerClosedException) return "producer_closed";
        if (error instanceof SubmitManyException) return "submit_many";
        if (error instanceof SpoolException) return "spool";
        // A future that was cancelled: how the language tells a call that its caller ended.
        if (error instanceof KeyturnException || error instanceof CancellationException) return "call";
        if (error instanceof IllegalArgumentException) return "wrong_argument";
        if (error instanceof Unsupported) return "unsupported";
        // What a handler threw, or a mistake of this player: no scenario expects it by that name.
        return error.getClass().getSimpleName();
    }

    private static void details(JsonObject shown, KeyturnException error) {
        shown.addProperty("code", error.code().name());
        if (!error.reason().isEmpty()) shown.addProperty("reason", error.reason());
        if (error instanceof TurnLostException lost) shown.addProperty("cause", Shown.word(lost.loss(), ""));
        error.retryAfter().ifPresent(after -> Shown.ms(shown, "retry_after_ms", after));
        if (error.violations().isEmpty()) return;
        JsonArray violations = new JsonArray();
        error.violations().forEach(one -> {
            JsonObject violation = Shown.with("field", one.field());
            violation.addProperty("description", one.description());
            violations.add(violation);
        });
        shown.add("violations", violations);
    }
}
