package io.keyturn.client.internal.session;

import io.keyturn.client.internal.words.TicketClaim;
import io.keyturn.client.internal.words.TurnName;
import io.keyturn.v1.TurnRef;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Turns of the session that nobody here holds: their answers were lost with a stream. Each is given back, but not while an open
 * call with a ticket may still be answered with it.
 */
final class Orphans {
    private static final class Group {
        /** Open calls that may claim the turns of the group. */
        int claimants;

        final Set<Orphan> orphans = new HashSet<>();
    }

    private static final class Orphan {
        final TurnRef turn;
        /** Groups that still have claimants. */
        int blockers;

        Orphan(TurnRef turn) {
            this.turn = turn;
        }
    }

    private final Map<List<String>, Group> groups = new HashMap<>();
    private final Map<WorkerCommand<?, ?>, List<List<String>>> claimants = new HashMap<>();
    private final Map<TurnName, Orphan> orphans = new HashMap<>();
    private final Consumer<TurnRef> giveBack;

    /** {@code giveBack}: called for every turn that nobody claimed, once, for some of them before this returns. */
    Orphans(Collection<TurnRef> turns, Collection<WorkerCommand<?, ?>> open, Consumer<TurnRef> giveBack) {
        this.giveBack = giveBack;
        for (WorkerCommand<?, ?> command : open) addClaimant(command);
        for (TurnRef turn : turns) addOrphan(turn);
    }

    /** One more, of which a notice told; {@code open} may be answered with it now. */
    void add(TurnRef turn, Collection<WorkerCommand<?, ?>> open) {
        for (WorkerCommand<?, ?> command : open) if (!claimants.containsKey(command)) addClaimant(command);
        if (!orphans.containsKey(TurnName.of(turn))) addOrphan(turn);
    }

    /** None is left: nothing that is told of calls and turns matters any more. */
    boolean isEmpty() {
        return orphans.isEmpty();
    }

    /** Somebody learnt of it after all. */
    void claimed(TurnName name) {
        Orphan orphan = orphans.remove(name);
        if (orphan == null) return;
        for (List<String> group : groupsOf(orphan.turn)) {
            Group found = groups.get(group);
            if (found != null) found.orphans.remove(orphan);
        }
    }

    /** It is answered, or given up before it was sent: it claims nothing any more. */
    void done(WorkerCommand<?, ?> command) {
        List<List<String>> names = claimants.remove(command);
        if (names != null) for (List<String> name : names) leave(name);
    }

    private void addClaimant(WorkerCommand<?, ?> command) {
        TicketClaim claim = command.claim();
        if (claim == null) return;
        List<List<String>> names = claim.queues().stream()
                .map(queue -> claim.key().isEmpty() ? List.of(queue) : List.of(queue, claim.key()))
                .toList();
        claimants.put(command, names);
        for (List<String> name : names) groups.computeIfAbsent(name, unused -> new Group()).claimants++;
    }

    private void addOrphan(TurnRef turn) {
        List<Group> found = groupsOf(turn).stream().map(groups::get).filter(group -> group != null).toList();
        if (found.isEmpty()) {
            giveBack.accept(turn);
            return;
        }
        Orphan orphan = new Orphan(turn);
        orphan.blockers = found.size();
        orphans.put(TurnName.of(turn), orphan);
        for (Group group : found) group.orphans.add(orphan);
    }

    private void leave(List<String> name) {
        Group group = groups.get(name);
        if (group == null || --group.claimants > 0) return;
        groups.remove(name);
        for (Orphan orphan : group.orphans) {
            if (--orphan.blockers > 0) continue;
            orphans.remove(TurnName.of(orphan.turn));
            giveBack.accept(orphan.turn);
        }
    }

    /** Those who ask for any key of the queue, and those who ask for this one. */
    private static List<List<String>> groupsOf(TurnRef turn) {
        return List.of(List.of(turn.getQueue()), List.of(turn.getQueue(), turn.getKey()));
    }
}
