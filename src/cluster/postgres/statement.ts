/** What is asked of PostgreSQL. */
import type { Buffer } from 'node:buffer';

/** Bytes are sent as they are: of type bytea, or of a type that is read from binary. */
export type Value = string | number | boolean | null | Buffer;

export type Answer = readonly (readonly unknown[])[];

/** What a statement needs of a connection. */
interface Asked {
  ask(statement: Statement, values: readonly Value[], deadline?: number): Promise<Answer>;
}

/** What a transaction needs of it, too. */
interface Held extends Asked {
  readonly isOpen: boolean;
  destroy(): void;
}

/** A statement that each connection prepares once. */
export class Statement {
  /**
   * @param name of its own
   * @param text with every table named by its schema
   */
  constructor(
    readonly name: string,
    readonly text: string,
  ) {}

  /** @returns its rows. @throws JournalError; `io`: it is not known whether it was done */
  run(connection: Asked, values: readonly Value[], deadline?: number): Promise<Answer> {
    return connection.ask(this, values, deadline);
  }
}

const BEGIN = new Statement('begin', 'BEGIN');
const COMMIT = new Statement('commit', 'COMMIT');
const ROLLBACK = new Statement('rollback', 'ROLLBACK');

/**
 * Several statements as one step. A task that fails leaves nothing behind. If the answer to the commit does not come, it is not known
 * whether it was done.
 */
export async function transaction<T>(connection: Held, task: () => Promise<T>): Promise<T> {
  await BEGIN.run(connection, []);
  let result: T;
  try {
    result = await task();
  } catch (error) {
    // A connection that is lost has rolled it back already.
    if (connection.isOpen) await ROLLBACK.run(connection, []).catch(() => connection.destroy());
    throw error;
  }
  await COMMIT.run(connection, []);
  return result;
}
