/**
 * Strings of messages must be UTF-8, as proto3 says. The decoder's usual way is to put U+FFFD in the place of what is
 * not, which would make one key out of two different ones. Such a message is refused by the transport instead.
 */
import { configureTextEncoding, getTextEncoding } from '@bufbuild/protobuf/wire';

export function refuseMalformedText(): void {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  configureTextEncoding({ ...getTextEncoding(), decodeUtf8: (bytes) => strict.decode(bytes) });
}
