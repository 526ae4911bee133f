/** One line that is written over and over, for people only: nothing is written where nobody watches. */
export function progressLine(stream: NodeJS.WriteStream): { say(text: string): void; clear(): void } {
  if (!stream.isTTY) return { say: () => {}, clear: () => {} };
  const clear = () => {
    stream.cursorTo(0);
    stream.clearLine(1);
  };
  return {
    say(text) {
      clear();
      // A line that wraps could not be written over.
      stream.write(text.slice(0, stream.columns - 1));
    },
    clear,
  };
}
