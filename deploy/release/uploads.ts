/** What is uploaded where, in this order: nothing is named by anything that is not there yet. */
import { join } from 'node:path';
import { pythonVersion, tagsOf } from './wanted.js';

export interface Upload {
  readonly to: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Variables that have to be set: addresses and secrets, which the project does not know. */
  readonly needs: readonly string[];
}

/** `deploy/release/prepare` makes them. */
const TOOLS = { twine: '.cache/release-tools/bin/twine', sign: '.cache/release-tools/bin/pypi-attestations' };

type Environment = Readonly<Record<string, string | undefined>>;

/** @param environment where a variable is not set, its name stands in the command */
export function uploadsOf(out: string, version: string, environment: Environment): readonly Upload[] {
  const given = (name: string) => environment[name] ?? `$${name}`;
  const isCandidate = version.includes('-');
  const npm = (name: string): Upload => ({
    to: `npm: ${name}`,
    program: 'npm',
    args: [
      'publish',
      join(out, 'npm', `${name}-${version}.tgz`),
      '--access',
      'public',
      '--provenance',
      '--tag',
      isCandidate ? 'next' : 'latest',
    ],
    needs: [],
  });
  const name = join(out, 'python', `keyturn-${pythonVersion(version)}`);
  const python = [`${name}.tar.gz`, `${name}-py3-none-any.whl`];
  const image = `${given('KEYTURN_IMAGE')}:${version}`;
  const [tag = '', ...moduleTags] = tagsOf(version);
  return [
    npm('keyturn-client'),
    npm('keyturn'),
    { to: 'signatures of PyPI', program: TOOLS.sign, args: ['sign', ...python], needs: [] },
    {
      to: 'PyPI',
      program: TOOLS.twine,
      args: [
        'upload',
        '--non-interactive',
        '--attestations',
        ...python.flatMap((file) => [file, `${file}.publish.attestation`]),
      ],
      needs: [],
    },
    {
      to: 'Maven',
      program: 'curl',
      args: [
        '--fail-with-body',
        '--silent',
        '--show-error',
        '--header',
        `Authorization: Bearer ${given('MAVEN_TOKEN')}`,
        '--form',
        `bundle=@${join(out, 'maven-bundle.zip')}`,
        given('MAVEN_UPLOAD_URL'),
      ],
      needs: ['MAVEN_TOKEN', 'MAVEN_UPLOAD_URL'],
    },
    {
      to: 'image',
      program: 'docker',
      args: [
        'buildx',
        'build',
        '--platform',
        'linux/amd64,linux/arm64',
        '--provenance',
        'mode=max',
        '--sbom',
        'true',
        '--build-arg',
        `NODE_IMAGE=${given('KEYTURN_NODE_IMAGE')}`,
        '--build-arg',
        `REVISION=${given('KEYTURN_REVISION')}`,
        '--tag',
        image,
        '--push',
        '.',
      ],
      needs: ['KEYTURN_IMAGE', 'KEYTURN_NODE_IMAGE', 'KEYTURN_REVISION'],
    },
    { to: 'signature of the image', program: 'cosign', args: ['sign', '--yes', image], needs: ['KEYTURN_IMAGE'] },
    {
      to: 'chart',
      program: 'helm',
      args: ['push', join(out, 'chart', `keyturn-${version}.tgz`), given('KEYTURN_CHARTS')],
      needs: ['KEYTURN_CHARTS'],
    },
    // What the Go client is fetched by. Last: a tag that was fetched is never moved.
    { to: 'Go', program: 'git', args: ['push', 'origin', tag, ...moduleTags], needs: [] },
  ];
}

/** For people: a secret is not shown. */
export function shown({ program, args }: Upload): string {
  return [program, ...args.map((arg) => quoted(arg.replace(/Bearer .+/, 'Bearer …')))].join(' ');
}

function quoted(arg: string): string {
  return /^[\w@%+=:,./$-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;
}
