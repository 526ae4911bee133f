/** What a sidecar tells of itself. */

/** Everything in `may`, on every queue and group that one of the patterns matches. */
interface RightView {
  readonly queues: readonly string[];
  readonly groups: readonly string[];
  readonly may: readonly string[];
}

export interface ServerView {
  readonly version: string;
  /** What runs it. */
  readonly runtime: string;
  /** ms since the Unix epoch */
  readonly startedAt: number;
  readonly now: number;
  /** Who asks. Unset: nobody is asked. */
  readonly asker?: { readonly name: string; readonly rights: readonly RightView[] } | undefined;
  readonly auth: boolean;
  readonly tls: boolean;
  readonly audit: boolean;
  /** Unset: it stands alone. */
  readonly cluster: string | undefined;
  readonly keeps: 'memory' | 'directory' | 'store';
  readonly addresses: { readonly grpc: string; readonly http: string; readonly page: string | undefined };
  /** YAML of what differs from what is built in, without secrets. Unset: not for who asks. */
  readonly settings: string | undefined;
  /** How full it is. `most` unset: unbounded. */
  readonly limits: readonly { readonly limit: string; readonly used: number; readonly most: number | undefined }[];
}
