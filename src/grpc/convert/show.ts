/** Values of strangers in messages for people: short, quoted, and never something that can not be sent. */

/** Small enough that 20 violations fit into the 8 KiB of trailers that some clients accept. */
const SHOWN_CHARACTERS = 32;

/** The start of a text, quoted. Cut between characters: half of one could not be sent as a status message. */
export function shorten(text: string): string {
  const start = [...text.slice(0, SHOWN_CHARACTERS * 2)].slice(0, SHOWN_CHARACTERS).join('');
  return JSON.stringify(printable(start === text ? text : `${start}…`));
}

/** Lone surrogates make `encodeURI` throw inside grpc-js, where the call would never be answered. */
export function printable(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}
