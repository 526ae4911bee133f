/** The way to another sidecar, as a link needs it: one stream of messages. */
export interface DialListener {
  /** The other side has proved that it belongs to the cluster. Unset: it is known who it is. */
  readonly isProved?: boolean;
  message(bytes: Buffer): void;
  /** Once; nothing follows. @param why for people */
  ended(why: string): void;
}

export interface DialedStream {
  /** The address of who dialed; unset: it is known. */
  readonly from?: string;
  /** @param left the bytes have left this process */
  send(message: Buffer, left: () => void): void;
  /** Ends it, whatever the other side does; the listener hears nothing of that. What was sent may still arrive. */
  end(): void;
}

export type Dial = (address: string, listener: DialListener) => DialedStream;
