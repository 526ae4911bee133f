/** The main container of a Job: it takes one turn, and is done. */
import { connect } from '@keyturn/client';

const keyturn = connect(process.argv[2] ?? '');
const { status } = await keyturn.withTurn('nightly', 'report', { wait: 10_000 }, () => 'made');
process.stdout.write(`${JSON.stringify({ job: status })}\n`);
await keyturn.close();
