import { connect } from 'node:tls';
import { systemClock } from '../time/clock.js';

const LONGEST_MS = 1_000;
/** What is not sent but by a server of TLS, which does not like this client. */
const ALERT = /ALERT/;

/** Whether a handshake is answered at `host:port` or `unix:/path`. Nothing is sent in it, so that no certificate matters. */
export function speaksTls(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const tls = connect({ ...placeOf(address), rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    const settle = (does: boolean): void => {
      stopTimer();
      tls.destroy();
      resolve(does);
    };
    const stopTimer = systemClock.after(LONGEST_MS, () => settle(false));
    tls.on('error', (error: Error & { readonly code?: unknown }) => settle(ALERT.test(String(error.code))));
    tls.once('secureConnect', () => settle(true));
    tls.once('close', () => settle(false));
  });
}

function placeOf(address: string): { readonly path: string } | { readonly host: string; readonly port: number } {
  if (address.startsWith('unix:')) return { path: address.slice('unix:'.length) };
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(at + 1)) };
}
