/** Whether a sidecar can show its certificate to the others: with one that does not fit it starts, and no call between them comes through. */
import type { X509Certificate } from 'node:crypto';
import { certificatesIn, type TlsMaterial } from './tls-files.js';

/** As certificates name what they are for (RFC 5280). */
const USES = { '1.3.6.1.5.5.7.3.1': 'serverAuth', '1.3.6.1.5.5.7.3.2': 'clientAuth' } as const;

interface Unfit {
  readonly field: 'cert' | 'ca';
  /** What is allowed, and what is wrong. */
  readonly what: string;
}

export function unfitForPeers({ cert, clientCa }: TlsMaterial): Unfit | undefined {
  const [own, ...between] = certificatesIn(cert.toString('latin1'));
  if (own === undefined || clientCa === undefined) return undefined;
  const lacks = usesNot(own);
  if (lacks.length > 0)
    return {
      field: 'cert',
      what: `must be a file with a certificate in PEM for both uses, server and client; its extended key usage lacks ${lacks.join(' and ')}: sidecars show it to each other as server and as client`,
    };
  if (leadsTo(certificatesIn(clientCa.toString('latin1')), own, between)) return undefined;
  return {
    field: 'ca',
    what: 'must be a file with the authority of all sidecars in PEM; none in it has issued the certificate of cluster.tls.cert, which others would refuse',
  };
}

function usesNot(own: X509Certificate): readonly string[] {
  // Not what its types say: one that does not bound its use has none.
  const allowed: readonly string[] | undefined = own.keyUsage;
  if (allowed === undefined) return [];
  return Object.entries(USES).flatMap(([oid, name]) => (allowed.includes(oid) ? [] : [name]));
}

/** From issuer to issuer, each taken once. */
function leadsTo(authorities: readonly X509Certificate[], own: X509Certificate, between: readonly X509Certificate[]) {
  const left = new Set(between);
  for (let at: X509Certificate | undefined = own; at !== undefined; ) {
    const from: X509Certificate = at;
    if (authorities.some((authority) => isOf(from, authority))) return true;
    at = [...left].find((one) => isOf(from, one));
    if (at !== undefined) left.delete(at);
  }
  return false;
}

function isOf(one: X509Certificate, issuer: X509Certificate): boolean {
  return one.fingerprint256 === issuer.fingerprint256 || (one.checkIssued(issuer) && one.verify(issuer.publicKey));
}
