package io.keyturn.client.internal.words;

import java.nio.file.Path;
import java.time.Duration;

/**
 * Where items wait on disk while the sidecar cannot be reached, or has no room.
 *
 * @param interval what was written is synced after it
 * @param count or after so many items
 * @param patience after which a sidecar that does not answer counts as away
 */
public record SpoolSettings(Path directory, Duration interval, int count, long maxBytes, Duration patience) {}
