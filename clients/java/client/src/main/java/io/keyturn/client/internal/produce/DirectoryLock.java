package io.keyturn.client.internal.produce;

import io.keyturn.client.SpoolException.Problem;
import io.keyturn.client.SpoolException;
import io.keyturn.client.internal.words.Failures;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * One producer at a time has a spool's directory. The lock is the system's: it ends with its process, however that ends. A client
 * of another language does not see it; its files are not read either.
 */
record DirectoryLock(FileChannel file, FileLock lock) {
    static DirectoryLock take(Path directory) throws IOException {
        Path path = directory.resolve("java.lock");
        FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            FileLock lock = file.tryLock();
            if (lock != null) return new DirectoryLock(file, lock);
        } catch (OverlappingFileLockException own) {
            file.close();
            throw inUse(path, "this process");
        } catch (IOException failed) {
            file.close();
            throw failed;
        }
        file.close();
        throw inUse(path, "another process");
    }

    private static SpoolException inUse(Path path, String who) {
        String what = "the directory is in use by " + who + "; each producer needs one of its own";
        return Failures.spool(Problem.IN_USE, path, what, null);
    }

    /** The file stays: it is the lock on it that counts. */
    void release() {
        try {
            file.close();
        } catch (IOException endsWithTheProcess) {
            return;
        }
    }
}
