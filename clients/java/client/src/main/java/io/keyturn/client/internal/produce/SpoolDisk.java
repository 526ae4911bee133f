package io.keyturn.client.internal.produce;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;

/** How a spool opens the files that it writes to, so that a test can see what it does to them, and fail. */
interface SpoolDisk {
    SpoolDisk REAL = FileChannel::open;

    FileChannel open(Path path, OpenOption... options) throws IOException;
}
