/** What the simulation is given: costs of one machine, in µs unless said otherwise. An operation is an EnQueue or a DeQueue. */
export interface Costs {
  /** A worker's process. */
  readonly load: { readonly turn: number; readonly operation: number };
  readonly gateway: { readonly turn: number; readonly message: number; readonly operation: number };
  readonly home: { readonly turn: number; readonly operation: number; readonly batch: number };
  readonly store: {
    readonly turn: number;
    /** Of an operation. */
    readonly rows: number;
    readonly row: number;
    readonly batch: number;
    /** Until the disk has what a turn wrote. */
    readonly flush: number;
    /** Bytes that go to it and come from it. */
    readonly bytesOfRow: number;
    readonly bytesOfBatch: number;
  };
  readonly registry: {
    /** Of the store, for each member that is listed. */
    readonly storeOfMember: number;
    /** Of who lists, and for each member that is listed. */
    readonly listing: number;
    readonly ofMember: number;
    /** Bytes of the record of a member. */
    readonly bytesOfMember: number;
    /** Of the store, for each gateway that looks where homes are. */
    readonly storeOfGateway: number;
  };
  /** One way between two processes. */
  readonly latency: number;
  /** Of a machine's network, bytes a second. */
  readonly network: number;
}

/**
 * Fitted to points.ts, but for: `registry.storeOfMember`, `listing` and `ofMember`, and the bytes of a member's record, which were measured by
 * themselves; `flush`, an fdatasync of that machine's disk when few others use it. Assumed, and measured by nobody: `load`, which no point depends
 * on much; `bytesOfRow` and `bytesOfBatch`, so the network of the store is a guess; `storeOfGateway`, so the share of gateways in the registry is
 * one; and the network of the machines that are supposed, 10 Gbit/s and half a millisecond there and back.
 */
export const MEASURED: Costs = {
  load: { turn: 60, operation: 4 },
  gateway: { turn: 50, message: 210, operation: 5 },
  home: { turn: 85, operation: 25, batch: 420 },
  store: { turn: 30, rows: 1.5, row: 4.1, batch: 100, flush: 500, bytesOfRow: 200, bytesOfBatch: 300 },
  registry: { storeOfMember: 3.6, listing: 300, ofMember: 5.2, bytesOfMember: 292, storeOfGateway: 20 },
  latency: 250,
  network: 1.25e9,
};
