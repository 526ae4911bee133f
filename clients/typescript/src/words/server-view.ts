/** What a sidecar tells of itself, and of who asks. */

export interface RightView {
  readonly queues: readonly string[];
  readonly groups: readonly string[];
  readonly may: readonly string[];
}

export interface ServerInfo {
  readonly version: string;
  readonly runtime: string;
  /** By the sidecar's clock, ms since the Unix epoch. */
  readonly startedAt: number;
  readonly now: number;
  /** Unset: nobody is asked who they are. */
  readonly principal: string | undefined;
  readonly rights: readonly RightView[];
  readonly auth: boolean;
  readonly tls: boolean;
  readonly audit: boolean;
  /** Unset: it stands alone. */
  readonly cluster: string | undefined;
  /** `memory`, `directory` or `store`. */
  readonly keeps: string;
  readonly grpcAddress: string;
  readonly httpAddress: string;
  readonly consoleAddress: string | undefined;
  /** YAML of what differs from what is built in, without secrets. Unset: nothing differs, or it is not for who asks. */
  readonly settings: string | undefined;
  /** `most` unset: unbounded. */
  readonly limits: readonly { readonly limit: string; readonly used: number; readonly most: number | undefined }[];
}
