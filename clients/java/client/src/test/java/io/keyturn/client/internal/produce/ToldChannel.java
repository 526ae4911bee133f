package io.keyturn.client.internal.produce;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.List;

/** A file that notes what is done to it, and whose disk may be full. */
final class ToldChannel extends FileChannel {
    /** Only so many bytes can be written still; negative: no end. */
    static final class Room {
        int left = -1;
    }

    private final FileChannel file;
    private final String name;
    private final List<String> done;
    private final Room room;

    ToldChannel(FileChannel file, Path path, List<String> done, Room room) {
        this.file = file;
        this.name = path.getFileName().toString().replaceAll("^0*|\\.spool$", "");
        this.done = done;
        this.room = room;
    }

    private void note(String what) {
        done.add(what + " " + name);
    }

    @Override
    public int write(ByteBuffer source, long position) throws IOException {
        note("write");
        if (room.left < 0) return file.write(source, position);
        if (room.left == 0) throw new IOException("No space left on device");
        ByteBuffer part = source.slice().limit(Math.min(room.left, source.remaining()));
        int written = file.write(part, position);
        room.left -= written;
        source.position(source.position() + written);
        return written;
    }

    @Override
    public FileChannel truncate(long size) throws IOException {
        note("truncate");
        file.truncate(size);
        return this;
    }

    @Override
    public void force(boolean metaData) throws IOException {
        note("force");
        file.force(metaData);
    }

    @Override
    protected void implCloseChannel() throws IOException {
        file.close();
    }

    @Override
    public long size() throws IOException {
        return file.size();
    }

    @Override
    public int read(ByteBuffer target) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int read(ByteBuffer target, long position) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int write(ByteBuffer source) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long position() {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel position(long position) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
        throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
        throw new UnsupportedOperationException();
    }
}
