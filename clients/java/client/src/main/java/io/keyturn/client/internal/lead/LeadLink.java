package io.keyturn.client.internal.lead;

import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.session.BackOff;
import io.keyturn.client.internal.session.Base;
import io.keyturn.client.internal.session.Connection;
import io.keyturn.client.internal.session.LeadStream;
import io.keyturn.client.internal.words.Clock;
import io.keyturn.v1.LeadCommand;
import io.keyturn.v1.LeadNews;
import io.keyturn.v1.LeadRequest;
import io.keyturn.v1.LeadResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;

/** The stream of all candidacies of a client, which breaks and comes back. There is one as long as anybody stands. Of the loop. */
public final class LeadLink implements LeadStream.Handlers {
    /** What the sidecar takes in one message, of commands; and of bytes with room to spare. */
    private static final int MOST = 1_000;

    private static final int MOST_BYTES = 1 << 20;

    private static final long LONGEST_PAUSE = 2_000 * Clock.MS;

    /** One of the candidacies of a client. */
    interface Standing {
        /** There is a new stream: what the sidecar has to know. */
        void opened();

        /** Nothing that was said on the stream is answered any more. */
        void broke(KeyturnException error);

        void told(LeadNews news);
    }

    private final Base base;
    private final Connection connection;
    private final Map<Integer, Standing> candidacies = new TreeMap<>();
    private final BackOff backOff = new BackOff(LONGEST_PAUSE);
    private final List<LeadCommand> commands = new ArrayList<>();
    private int last;
    private LeadStream stream;
    private long since;
    private ScheduledFuture<?> retry;
    private boolean isFlushing;
    /** Streams that have not ended. */
    private int open;
    /** Null: nobody waits for that. */
    private CompletableFuture<Void> closed;

    public LeadLink(Base base, Connection connection) {
        this.base = base;
        this.connection = connection;
    }

    int number() {
        return ++last;
    }

    void stand(int number, Standing candidacy) {
        candidacies.put(number, candidacy);
        if (stream != null) candidacy.opened();
        else if (retry == null) connect();
    }

    /** It is over. The stream ends with the last one. */
    void remove(int number) {
        candidacies.remove(number);
        if (!candidacies.isEmpty()) return;
        if (retry != null) retry.cancel(false);
        retry = null;
        if (stream == null) return;
        // What was said last still goes out.
        flush();
        stream.end();
        stream = null;
    }

    /** False: there is no stream, and nothing is said. */
    boolean say(int number, LeadCommand.Builder command) {
        if (stream == null) return false;
        commands.add(command.setCandidacy(number).build());
        if (!isFlushing) {
            // Whatever is said in this task travels together.
            isFlushing = true;
            base.inLoop(this::flush);
        }
        return true;
    }

    /** From any thread. Completes when no stream is left. */
    public CompletableFuture<Void> close() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        base.inLoop(() -> {
            closed = done;
            if (open == 0) done.complete(null);
        });
        return done;
    }

    private void flush() {
        isFlushing = false;
        for (int from = 0, to; stream != null && from < commands.size(); from = to) {
            to = endOfMessage(from);
            stream.write(LeadRequest.newBuilder()
                    .addAllCommands(commands.subList(from, to))
                    .build());
        }
        commands.clear();
    }

    /** Of the one that begins with this command, and has at least that. */
    private int endOfMessage(int from) {
        int bytes = 0;
        int to = from;
        while (to < commands.size() && to - from < MOST) {
            bytes += commands.get(to).getSerializedSize();
            if (to > from && bytes > MOST_BYTES) break;
            to++;
        }
        return to;
    }

    private void connect() {
        retry = null;
        since = Clock.now();
        commands.clear();
        open++;
        stream = new LeadStream(connection, this);
        for (Standing candidacy : List.copyOf(candidacies.values())) candidacy.opened();
    }

    @Override
    public void message(LeadStream of, LeadResponse message) {
        if (of != stream) return;
        backOff.reset();
        for (LeadNews news : message.getNewsList()) {
            Standing candidacy = candidacies.get(news.getCandidacy());
            if (candidacy != null) candidacy.told(news);
        }
    }

    @Override
    public void ended(LeadStream of, KeyturnException error) {
        open--;
        if (open == 0 && closed != null) closed.complete(null);
        if (of != stream) return;
        stream = null;
        commands.clear();
        if (Clock.now() - since >= LONGEST_PAUSE) backOff.reset();
        for (Standing candidacy : List.copyOf(candidacies.values())) candidacy.broke(error);
        if (!candidacies.isEmpty()) retry = base.after(backOff.next(0), this::connect);
    }
}
