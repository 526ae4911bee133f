package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Who may know whom, as the compiled classes say it: `jdeps`. */
class RoomsTest {
    private static final String API = "io.keyturn.client";
    private static final String INTERNAL = API + ".internal.";

    /** From the ground up: what a room may know besides itself and the types of the API that know no room but the words. */
    private static final Map<String, Set<String>> FLOORS = new TreeMap<>(Map.of(
            "words", Set.of(),
            "session", Set.of("words"),
            "consume", Set.of("words", "session"),
            "lead", Set.of("words", "session"),
            "produce", Set.of("words", "session"),
            "tracing", Set.of("words")));

    /** One class knows another; what is nested counts as its file. */
    private static final Pattern LINE =
            Pattern.compile("\\s+(io\\.keyturn\\.client\\.[\\w.]+)\\S*\\s+-> (io\\.keyturn\\.client\\.[\\w.]+).*");

    /** Of each file, which others it knows. */
    private static final Map<String, Set<String>> KNOWN = new TreeMap<>();

    @BeforeAll
    static void look() {
        StringWriter found = new StringWriter();
        ToolProvider jdeps = ToolProvider.findFirst("jdeps").orElseThrow();
        jdeps.run(new PrintWriter(found), new PrintWriter(System.err), "-verbose:class", "-filter:none", "target/classes");
        found.toString().lines().map(LINE::matcher).filter(Matcher::matches).forEach(line -> {
            Set<String> of = KNOWN.computeIfAbsent(line.group(1), unused -> new TreeSet<>());
            if (!line.group(1).equals(line.group(2))) of.add(line.group(2));
        });
        assertTrue(KNOWN.containsKey(INTERNAL + "session.Session"), "jdeps found nothing in target/classes");
    }

    /** Empty: it is of the API. */
    private static String roomOf(String type) {
        return type.startsWith(INTERNAL) ? type.substring(INTERNAL.length(), type.lastIndexOf('.')) : "";
    }

    /** Of the API, and stands on top of the rooms. */
    private static boolean isFace(String type) {
        if (!roomOf(type).isEmpty()) return false;
        return KNOWN.getOrDefault(type, Set.of()).stream()
                .map(RoomsTest::roomOf)
                .anyMatch(room -> !room.isEmpty() && !room.equals("words"));
    }

    @Test
    void aRoomKnowsTheRoomsBelowItAndNoFaceOfTheApi() {
        List<String> wrong = new ArrayList<>();
        Set<String> rooms = new TreeSet<>();
        KNOWN.forEach((type, others) -> {
            String room = roomOf(type);
            if (room.isEmpty()) return;
            rooms.add(room);
            for (String other : others) {
                boolean isBelow = roomOf(other).equals(room) || FLOORS.getOrDefault(room, Set.of()).contains(roomOf(other));
                if (roomOf(other).isEmpty() ? isFace(other) : !isBelow) wrong.add(type + " -> " + other);
            }
        });
        assertEquals(List.of(), wrong);
        assertEquals(FLOORS.keySet(), rooms);
    }

    @Test
    void filesOfTheRoomsAndFacesOfTheApiKnowEachOtherInNoCircle() {
        Map<String, Set<String>> left = new HashMap<>();
        KNOWN.forEach((type, others) -> {
            if (roomOf(type).isEmpty() && !isFace(type)) return;
            left.put(type, new HashSet<>(others));
        });
        boolean isLess = true;
        while (isLess) {
            for (Set<String> others : left.values()) others.retainAll(left.keySet());
            isLess = left.values().removeIf(Set::isEmpty);
        }
        assertEquals(Map.of(), left, "these know each other in a circle, or know such files");
    }

    @Test
    void nothingThatAnApplicationSeesNamesAnInternalType() throws Exception {
        Set<String> wrong = new TreeSet<>();
        int seen = 0;
        try (Stream<Path> files = Files.list(Path.of("target/classes/io/keyturn/client"))) {
            for (Path file : files.filter(one -> one.toString().endsWith(".class")).toList()) {
                Class<?> type = Class.forName(API + "." + file.getFileName().toString().replace(".class", ""));
                if (!isSeen(type.getModifiers())) continue;
                seen++;
                for (Member member : membersOf(type)) {
                    String text = textOf(member);
                    if (isSeen(member.getModifiers()) && text.contains(INTERNAL)) wrong.add(text);
                }
            }
        }
        assertTrue(seen > 40, "only " + seen + " types were looked at");
        assertEquals(Set.of(), wrong);
    }

    private static List<Member> membersOf(Class<?> type) {
        List<Member> members = new ArrayList<>(List.of(type.getDeclaredConstructors()));
        // With those that a class of its package leaves to it.
        for (Class<?> from = type; from != null && from.getName().startsWith(API); from = from.getSuperclass()) {
            members.addAll(List.of(from.getDeclaredMethods()));
            members.addAll(List.of(from.getDeclaredFields()));
        }
        return members;
    }

    private static String textOf(Member member) {
        if (member instanceof Field field) return field.toGenericString();
        return member instanceof Executable code ? code.toGenericString() : member.toString();
    }

    private static boolean isSeen(int modifiers) {
        return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
    }

    @Test
    void everyRoomSaysItsRule() throws IOException {
        for (String room : FLOORS.keySet()) {
            Path page = Path.of("src/main/java/io/keyturn/client/internal", room, "package-info.java");
            assertTrue(Files.readString(page).contains("Not for applications"), page + " does not say whom it is for");
        }
    }
}
