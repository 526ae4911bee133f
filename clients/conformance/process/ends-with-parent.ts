/** Loaded before a sidecar: it ends when the driver is gone, which may have had no time to end it. */
process.once('disconnect', () => process.exit(1));
// Listening keeps no process alive that has nothing else to do.
process.channel?.unref();
