package io.keyturn.client.internal.produce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.QueueItem;
import io.keyturn.client.internal.words.SpoolSettings;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files of a spool, without a sidecar. */
final class SpoolTest {
    @TempDir
    Path folder;

    private SpoolSettings settings() {
        return new SpoolSettings(folder.resolve("spool"), Duration.ofMillis(50), 1_000, 1 << 28, Duration.ofSeconds(1));
    }

    private Spool open() {
        return new Spool(settings(), "q");
    }

    private static List<QueueItem> items(String life, int count, int size) {
        List<QueueItem> items = new ArrayList<>();
        for (int at = 0; at < count; at++) items.add(QueueItem.of("k", new byte[size]).withItemId(life + "-" + at));
        return items;
    }

    private static void append(Spool spool, List<QueueItem> items) {
        spool.append(items.stream().map(Spool::encode).toList());
        spool.sync();
    }

    /** Hands all of it over, so many at a time. */
    private static List<String> drain(Spool spool, int most) {
        List<String> found = new ArrayList<>();
        for (SpoolReader.Chunk chunk = spool.read(most, 1 << 20); chunk != null; chunk = spool.read(most, 1 << 20)) {
            for (QueueItem item : chunk.items()) found.add(item.itemId());
            spool.advance(chunk);
        }
        return found;
    }

    private static List<String> ids(List<QueueItem> items) {
        return items.stream().map(QueueItem::itemId).toList();
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve("spool"))) {
            return files.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void whatWasNotedOfAFileThatIsGoneSaysNothingOfLaterOnes() {
        int life = 0;
        for (int size : new int[] {200, 200, 100, 400, 200, 50, 200}) {
            List<QueueItem> items = items("life" + life++, 20, size);
            Spool first = open();
            append(first, items);
            first.close();
            Spool second = open();
            assertEquals(20, second.items());
            assertEquals(ids(items), drain(second, 7));
            second.close();
        }
    }

    @Test
    void aNumberIsNeverUsedAgain() throws IOException {
        for (int life = 0; life < 3; life++) {
            Spool spool = open();
            append(spool, items("life" + life, 1, 10));
            String name = String.format("%010d.spool", life + 1);
            assertTrue(files().contains(name), () -> name + " is not there");
            drain(spool, 10);
            spool.close();
            assertTrue(!files().contains(name), () -> name + " is there still");
        }
    }

    @Test
    void theCursorGoesWithItsSegment() throws IOException {
        Spool spool = open();
        append(spool, items("a", 5, 10));
        spool.advance(spool.read(2, 1 << 20));
        assertTrue(files().contains("cursor"));
        drain(spool, 10);
        assertTrue(!files().contains("cursor"));
        spool.close();
    }

    @Test
    void aCursorThatIsNoStartOfARecordCountsForNothing() throws IOException {
        Spool spool = open();
        List<QueueItem> items = items("a", 5, 10);
        append(spool, items);
        spool.advance(spool.read(2, 1 << 20));
        spool.close();
        byte[] body = java.nio.ByteBuffer.allocate(16).putLong(1).putLong(77).array();
        Files.write(folder.resolve("spool/cursor"), SpoolRecord.encode(body));
        Spool again = open();
        assertEquals(ids(items), drain(again, 10));
        again.close();
    }

    @Test
    void aCursorThatCannotBeWrittenStopsNoReplay() throws IOException {
        Path cursor = folder.resolve("spool/cursor");
        Spool spool = open();
        Files.deleteIfExists(cursor);
        spool.close();
        Files.deleteIfExists(cursor);
        Files.createSymbolicLink(cursor, Path.of("/dev/full"));
        Spool again = open();
        List<QueueItem> items = items("a", 50, 10);
        append(again, items);
        assertEquals(ids(items), drain(again, 10));
        again.close();
    }

    @Test
    void aDiskThatWasFullTakesItemsAgain() throws IOException {
        Spool spool = open();
        Path obstacle = folder.resolve("spool/0000000001.spool");
        Files.createDirectory(obstacle);
        List<byte[]> records = items("a", 2, 10).stream().map(Spool::encode).toList();
        assertEquals(0, spool.append(records));
        assertNotNull(spool.full());
        assertNull(spool.broken());
        Files.delete(obstacle);
        assertEquals(2, spool.append(records));
        assertNull(spool.full());
        spool.sync();
        assertEquals(2, drain(spool, 10).size());
        spool.close();
    }

    private Spool told(List<String> done, ToldChannel.Room room) {
        SpoolDisk disk = (path, options) -> new ToldChannel(FileChannel.open(path, options), path, done, room);
        return new Spool(settings(), "q", disk);
    }

    @Test
    void whatAFailedWriteLeftIsCutAwayForGoodBeforeAnythingElseIsWritten() {
        List<String> done = new ArrayList<>();
        ToldChannel.Room room = new ToldChannel.Room();
        Spool spool = told(done, room);
        append(spool, items("a", 1, 10));
        done.clear();
        room.left = 9;
        List<byte[]> records = items("b", 1, 100).stream().map(Spool::encode).toList();
        assertEquals(0, spool.append(records));
        assertNotNull(spool.full());
        room.left = -1;
        assertEquals(1, spool.append(records));
        assertEquals(List.of("write 1", "write 1", "truncate 1", "force 1", "write 1"), done);
        spool.close();
    }

    @Test
    void aTornRecordIsCutAwayForGoodWhenTheSpoolIsOpened() throws IOException {
        Spool first = open();
        append(first, items("a", 2, 10));
        first.close();
        byte[] torn = java.util.Arrays.copyOf(Spool.encode(items("b", 1, 10).get(0)), 9);
        Files.write(folder.resolve("spool/0000000001.spool"), torn, StandardOpenOption.APPEND);
        List<String> done = new ArrayList<>();
        Spool second = told(done, new ToldChannel.Room());
        assertNotNull(second.torn());
        assertEquals(List.of("truncate 1", "force 1"), done);
        append(second, items("c", 1, 10));
        assertEquals(List.of("a-0", "a-1", "c-0"), drain(second, 10));
        second.close();
    }
}
