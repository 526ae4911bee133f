package io.keyturn.conformance;

import com.google.gson.JsonObject;
import io.keyturn.client.FormerLeader;
import io.keyturn.client.HandOverCause;
import io.keyturn.client.Keyturn;
import io.keyturn.client.LeadOptions;
import io.keyturn.client.LeaderCareer;
import io.keyturn.client.LeaderTerm;
import io.keyturn.client.Leadership;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** What a leader does in each phase: as the request says it, told by events, and noted where all players do. */
final class Leading implements LeaderCareer {
    private static final Fields NOTHING = new Fields(new JsonObject());

    private final String handle;
    private final Fields career;
    private final java.util.function.Consumer<JsonObject> tell;
    private Leadership leadership;
    /** Of a phase that is held; null: none is. */
    private volatile BlockingQueue<Fields> held;

    Leading(Fields request, java.util.function.Consumer<JsonObject> tell) {
        this.handle = request.text("handle");
        this.career = request.has("career") ? request.object("career") : NOTHING;
        this.tell = tell;
    }

    /** The wrong word of a type that has none is refused as the client refuses a wrong value. */
    static LeadOptions options(Fields request) {
        LeadOptions.Builder options = LeadOptions.builder();
        request.optionalText("candidate_id").ifPresent(options::candidateId);
        request.optionalDuration("ttl_ms").ifPresent(options::ttl);
        request.optionalDuration("margin_ms").ifPresent(options::margin);
        request.optionalDuration("inaugurate_timeout_ms").ifPresent(options::inaugurateTimeout);
        request.optionalDuration("hand_over_timeout_ms").ifPresent(options::handOverTimeout);
        if (request.flag("once")) options.once();
        String progress = request.optionalText("progress").orElse("timer");
        if (progress.equals("manual")) options.manualProgress();
        else if (!progress.equals("timer")) {
            throw new IllegalArgumentException("progress: " + progress + "; allowed are timer, manual");
        }
        if (request.has("metadata")) {
            Map<String, String> metadata = new HashMap<>();
            request.object("metadata").json().asMap().forEach((name, value) -> metadata.put(name, value.getAsString()));
            options.metadata(metadata);
        }
        return options.build();
    }

    Leadership lead(Keyturn client, Fields request) {
        leadership = client.lead(request.text("group"), options(request), this);
        leadership.done().whenComplete((nothing, error) -> {
            JsonObject event = event(error == null ? "withdrawn" : "failed");
            if (error != null) event.add("error", ShownError.of(error));
            tell.accept(event);
        });
        return leadership;
    }

    void finish(Fields outcome) {
        BlockingQueue<Fields> waiting = held;
        if (waiting == null || !waiting.offer(outcome)) throw new WrongRequest("no phase of " + handle + " is held");
    }

    @Override
    public void inaugurate(LeaderTerm term) throws Exception {
        FormerLeader before = term.predecessor();
        JsonObject predecessor = new JsonObject();
        predecessor.addProperty("candidate_id", before.candidateId());
        predecessor.addProperty("term", before.term());
        predecessor.addProperty("how", Shown.word(before.ended(), ""));
        predecessor.add("state", Fields.shown(before.state()));
        JsonObject more = new JsonObject();
        more.add("predecessor", predecessor);
        phase("inaugurate", term, more);
    }

    @Override
    public void execute(LeaderTerm term) throws Exception {
        phase("execute", term, new JsonObject());
    }

    @Override
    public byte[] handOver(LeaderTerm term, HandOverCause cause) throws Exception {
        Fields done = phase("hand_over", term, Shown.with("reason", Shown.word(cause, "")));
        return done.optionalText("state").map(text -> text.getBytes(StandardCharsets.UTF_8)).orElse(null);
    }

    private Fields phase(String phase, LeaderTerm term, JsonObject more) throws Exception {
        Fields plan = career.has(phase) ? career.object(phase) : NOTHING;
        boolean isHeld = plan.flag("held") || (phase.equals("execute") && !plan.has("does"));
        BlockingQueue<Fields> waiting = new ArrayBlockingQueue<>(1);
        // Known as held before it is told.
        held = isHeld ? waiting : null;
        note("start", phase, term);
        JsonObject event = event("phase");
        event.addProperty("phase", phase);
        event.addProperty("term", term.number());
        more.entrySet().forEach(entry -> event.add(entry.getKey(), entry.getValue()));
        tell.accept(event);
        boolean[] told = {false};
        term.onLost(() -> lost(term, told));
        try {
            long blocks = plan.optionalNumber("blocks_ms").orElse(0L);
            if (blocks > 0) block(blocks);
            Fields done = isHeld ? outcome(phase, plan, term, waiting) : null;
            if (done == null) done = plan.has("does") ? plan.object("does") : NOTHING;
            if (done.has("throw")) throw new Exception(done.text("throw"));
            return done;
        } finally {
            held = null;
            if (term.isLost()) lost(term, told);
            // Nobody tells of this phase any more.
            synchronized (told) {
                told[0] = true;
            }
            note("end", phase, term);
            JsonObject ended = event("phase_ended");
            ended.addProperty("phase", phase);
            ended.addProperty("term", term.number());
            tell.accept(ended);
        }
    }

    private static Fields outcome(String phase, Fields plan, LeaderTerm term, BlockingQueue<Fields> waiting)
            throws InterruptedException {
        while (true) {
            try {
                Fields done = waiting.poll(5, TimeUnit.MILLISECONDS);
                if (done != null) return done;
            } catch (InterruptedException lost) {
                if (!plan.flag("ignores_loss")) throw lost;
            }
            if (plan.flag("ignores_loss")) continue;
            if (phase.equals("hand_over") ? term.isLost() : term.isStopping()) return null;
        }
    }

    /** Whatever interrupts it. */
    private static void block(long millis) {
        long until = System.nanoTime() + Duration.ofMillis(millis).toNanos();
        while (System.nanoTime() < until) {
            try {
                TimeUnit.NANOSECONDS.sleep(until - System.nanoTime());
            } catch (InterruptedException again) {
                continue;
            }
        }
    }

    private void lost(LeaderTerm term, boolean[] told) {
        synchronized (told) {
            if (told[0]) return;
            told[0] = true;
        }
        JsonObject event = event("lost");
        event.addProperty("term", term.number());
        event.addProperty("cause", term.loss().map(loss -> Shown.word(loss, "")).orElse("unknown"));
        tell.accept(event);
    }

    private JsonObject event(String name) {
        JsonObject event = Shown.with("event", name);
        event.addProperty("handle", handle);
        return event;
    }

    /** Appended in one write, so that lines of several processes do not mix. */
    private void note(String what, String phase, LeaderTerm term) throws IOException {
        if (!career.has("ledger")) return;
        String line = String.join("\t", what, phase, term.group(), Long.toString(term.number()), term.candidateId()) + "\n";
        Files.write(
                Path.of(career.text("ledger")),
                line.getBytes(StandardCharsets.UTF_8),
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }
}
