/** Which tests are asked about a file of the source, the quickest and likeliest first. */
import { basename } from 'node:path';

export interface Stage {
  readonly name: string;
  /** Test files, as `test/core/admission/capacity.test.ts`, which run in one process. */
  readonly files: readonly string[];
  /** Random tests run less often than in `npm test`: so that a mutant takes seconds. */
  readonly env: Readonly<Record<string, string>>;
}

const MEMORY = 'test/core/memory.test.ts';
/** Of test/core/: each of these takes seconds. */
const SLOW: ReadonlySet<string> = new Set([
  'test/core/audit.test.ts',
  'test/core/calls/admin/explain-property.test.ts',
]);

/**
 * @param tests the paths of all test files
 * @param withMemory asks the test of bounded memory too, which takes a minute
 */
export function stagesOf(path: string, tests: readonly string[], withMemory = false): readonly Stage[] {
  const below = (folder: string) => tests.filter((test) => test.startsWith(folder) && test !== MEMORY);
  const name = basename(path, '.ts');
  const own = ['test/core/', 'test/local/'].flatMap(below).filter((test) => basename(test).includes(name));
  const isSlow = (test: string) => SLOW.has(test) || test.startsWith('test/core/durable/');
  const core = stage(
    'core',
    below('test/core/').filter((test) => !isSlow(test)),
  );
  const slow = stage('slow core', below('test/core/').filter(isSlow));
  const local = stage('local', below('test/local/'));
  const contract = stage('contract', ['test/contract/local.test.ts']);
  const durable = stage('durable contract', ['test/contract/durable.test.ts']);
  const model = stage('model', below('test/model/'), { KEYTURN_RUNS: '12' });
  const simulations = stage('simulations', ['test/sim/simulation.test.ts', 'test/sim/durable.test.ts'], {
    KEYTURN_RUNS: '3',
  });
  // Limits are told to people, and those of single calls looked at where they come in.
  const wire = stage('wire', ['test/config/print.test.ts', 'test/grpc/convert/validation.test.ts']);
  const stages = path.startsWith('src/core/')
    ? [core, model, contract, slow, local, wire, durable, simulations]
    : [local, contract, stage('data commands', below('test/cli/data')), durable, slow, simulations];
  const others = stages.map((one) => ({ ...one, files: one.files.filter((file) => !own.includes(file)) }));
  const last = withMemory ? [stage('memory', [MEMORY])] : [];
  return [stage('its own', own), ...others, ...last].filter(({ files }) => files.length > 0);
}

/** Random tests run less often than in `npm test`: a number, so that a mutant meets the same worlds again. */
const FEW = { KEYTURN_RUNS: '20' };

function stage(name: string, files: readonly string[], env: Readonly<Record<string, string>> = FEW): Stage {
  return { name, files, env };
}
