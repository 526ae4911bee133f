/** What a repository must not tell: where it was made, and where packages were fetched from. */
import type { TextFile } from './repository.js';

interface Trace {
  readonly pattern: RegExp;
  readonly what: string;
}

const MACHINE_PATHS: readonly Trace[] = [
  { pattern: /(?<![\w.}$-])\/(?:home|Users)\/[a-z_][\w.-]*\//i, what: "the path of somebody's home" },
  { pattern: /(?<![\w.}$-])\/root\//, what: "the path of somebody's home" },
  { pattern: /(?<![\w.}$-])\/(?:work|workspace|tmp)\/[\w.-]+/, what: 'the path of a working place' },
  { pattern: /\b[A-Z]:\\Users\\/i, what: "the path of somebody's home" },
];

const REGISTRIES: readonly Trace[] = [
  { pattern: /"resolved":\s*"https?:/, what: 'the host of a package registry in a lock file' },
  { pattern: /\bregistry\.(?:npmjs|yarnpkg|npmmirror)\.\w+/i, what: 'the host of a package registry' },
  { pattern: /\bnpm\.pkg\.github\.com\b/i, what: 'the host of a package registry' },
  { pattern: /\b(?:artifactory|nexus|verdaccio)\.[\w-]+\.\w+/i, what: 'the host of a package registry' },
  { pattern: /^[ \t]*(?:@[\w-]+:)?registry\s*=/m, what: 'the setting of a package registry' },
];

/**
 * @param registry the registry of this machine, if npm tells it: it is nobody else's business
 */
export function checkTraces(files: readonly TextFile[], registry: string | undefined): readonly string[] {
  const host = hostOf(registry);
  const own = host === undefined ? [] : [{ pattern: literal(host), what: "this machine's package registry" }];
  return files.flatMap((file) =>
    [...MACHINE_PATHS, ...REGISTRIES, ...own].flatMap(({ pattern, what }) => {
      const found = pattern.exec(file.text);
      if (found === null) return [];
      return [`${file.path}:${lineAt(file.text, found.index)}: ${what}: ${found[0].trim()}`];
    }),
  );
}

/** Loopback is no trace: a README names it for better reasons. */
function hostOf(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return /^(localhost|127\..*|\[.*\])$/.test(hostname) || !hostname.includes('.') ? undefined : hostname;
}

function literal(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
