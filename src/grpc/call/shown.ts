/** What a caller shows: its token, its certificate, the way by which it comes. */
import type { Metadata, ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { isLoopback } from '../../access/authenticator.js';
import type { Shown } from '../../access/principal.js';
import { namesIn } from './names-in.js';

export function showOf(call: ServerInterceptingCallInterface, metadata: Metadata): Shown {
  const { transportSecurityType, sslPeerCertificate } = call.getAuthContext();
  const { remoteAddress } = call.getConnectionInfo();
  // A socket of the file system has no address on the other side.
  const isUnix = remoteAddress === undefined;
  return {
    authorization: metadata.get('authorization').map(String),
    sans: sslPeerCertificate === undefined ? [] : namesIn(sslPeerCertificate.subjectaltname ?? ''),
    isUnix,
    isPrivate: isUnix || transportSecurityType === 'ssl' || isLoopback(remoteAddress),
  };
}
