package io.keyturn.client.internal.session;

import io.keyturn.client.TurnLoss;
import io.keyturn.client.internal.words.TurnName;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the application holds, by queue and token. As many as the sidecar has live turns of this session. Of the loop. */
final class GivenTurns {
    /** Turns that were lost between their answer and their holder; more are not remembered. */
    private static final int LOST = 10_000;

    private final Map<TurnName, Given> turns = new HashMap<>();
    /** So that a turn can be settled by its ticket too. The newest of equal tickets, which only other keys can have. */
    private final Map<String, Given> byTicket = new HashMap<>();
    /** Lost before anybody held them: told when somebody does. */
    private final Map<TurnName, TurnLoss> lost = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<TurnName, TurnLoss> eldest) {
            return size() > LOST;
        }
    };

    private int tied;

    int tied() {
        return tied;
    }

    void add(Given given) {
        turns.put(given.name(), given);
        if (given.tied) tied++;
        if (!given.ticket.isEmpty()) byTicket.put(given.ticket, given);
    }

    Given find(TurnName name) {
        return turns.get(name);
    }

    Given findByTicket(String queue, String key, String ticket) {
        Given given = byTicket.get(ticket);
        if (given == null || !given.turn.getQueue().equals(queue) || !given.turn.getKey().equals(key)) return null;
        return given;
    }

    TurnLoss takeLoss(TurnName name) {
        return lost.remove(name);
    }

    void remove(Given given) {
        if (!turns.remove(given.name(), given)) return;
        if (given.tied) tied--;
        if (!given.ticket.isEmpty()) byTicket.remove(given.ticket, given);
    }

    void lose(Given given, TurnLoss why) {
        remove(given);
        if (given.holders.isEmpty()) lost.put(given.name(), why);
        for (Held held : given.holders) held.lose(why);
    }

    Collection<Given> all() {
        return turns.values();
    }
}
