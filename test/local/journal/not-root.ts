/** Loaded before a program: it runs as nobody, for whom rights hold. Who is not root stays who they are. */
if (process.getuid?.() === 0) {
  process.setegid?.(65_534);
  process.seteuid?.(65_534);
}
