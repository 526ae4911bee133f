/** What the clients of each language need on a machine, and how to get what is missing. */
import { execFile } from 'node:child_process';

export const LANGUAGES = ['typescript', 'python', 'go', 'java'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface Tool {
  readonly name: string;
  /** A command that says its version. */
  readonly command: readonly [string, ...string[]];
  readonly least: readonly [number, number];
  /** Sentences for people. */
  readonly get: string;
}

export const TOOLS: Readonly<Record<Language, readonly Tool[]>> = {
  typescript: [
    {
      name: 'Node',
      command: [process.execPath, '--version'],
      least: [20, 19],
      get: 'Get it with a version manager: nvm install 20, or fnm install 20.',
    },
  ],
  python: [
    {
      name: 'Python',
      command: [process.env['PYTHON'] ?? 'python3', '--version'],
      least: [3, 10],
      get: 'Debian and Ubuntu: apt-get install python3 python3-venv. Elsewhere: pyenv install 3.12. Set PYTHON to use another one than python3.',
    },
    {
      name: 'venv and pip of Python',
      command: [
        process.env['PYTHON'] ?? 'python3',
        '-c',
        'import ensurepip, venv, sys; print(*sys.version_info[:2], sep=".")',
      ],
      least: [3, 10],
      get: 'Debian and Ubuntu: apt-get install python3-venv.',
    },
  ],
  go: [
    {
      name: 'Go',
      command: ['go', 'version'],
      least: [1, 22],
      get: 'Debian and Ubuntu: apt-get install golang-go, where that is new enough (Debian 13, Ubuntu 24.04), or golang-go of the backports of Debian 12. Elsewhere: goenv install 1.22.',
    },
  ],
  java: [
    {
      name: 'JDK',
      command: ['javac', '-version'],
      least: [17, 0],
      get: 'Debian and Ubuntu: apt-get install openjdk-17-jdk-headless. Elsewhere: sdk install java, of SDKMAN.',
    },
    {
      name: 'Maven',
      command: ['mvn', '--batch-mode', '--version'],
      least: [3, 8],
      get: 'Debian and Ubuntu: apt-get install maven. Elsewhere: sdk install maven, of SDKMAN.',
    },
  ],
};

/** What a command says. Undefined: there is no such program, or it fails. */
export type Ask = (command: readonly [string, ...string[]]) => Promise<string | undefined>;

/** @returns a sentence for each that is missing or too old */
export async function missingTools(language: Language, ask: Ask = run): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const tool of TOOLS[language]) {
    const said = await ask(tool.command);
    const version = said === undefined ? undefined : versionIn(said);
    if (version !== undefined && isEnough(version, tool.least)) continue;
    const found =
      said === undefined ? 'is missing' : `is missing: this one is ${version?.join('.') ?? firstLine(said)}`;
    missing.push(`${tool.name} ${tool.least.join('.')} or newer ${found}. ${tool.get}`);
    // What is checked after it needs it.
    break;
  }
  return missing;
}

export function isLanguage(word: string): word is Language {
  return LANGUAGES.some((language) => language === word);
}

/** The first number with a point in what a program says of itself: `go version go1.26.8 linux/amd64`, `javac 17.0.15`. */
function versionIn(said: string): readonly [number, number] | undefined {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(said) ?? /(\d+)()/.exec(said) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)];
}

function isEnough([major, minor]: readonly [number, number], [leastMajor, leastMinor]: readonly [number, number]) {
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

function firstLine(text: string): string {
  return JSON.stringify(text.split('\n')[0]);
}

/** A program that does not answer is as good as none. */
const LONGEST_ANSWER_MS = 30_000;

function run([program, ...args]: readonly [string, ...string[]]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: LONGEST_ANSWER_MS }, (error, stdout, stderr) => {
      resolve(error === null ? `${stdout}${stderr}` : undefined);
    });
  });
}
