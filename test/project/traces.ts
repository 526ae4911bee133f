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
  { pattern: /\b(?:registry\.)?(?:npmjs|yarnpkg|npmmirror)\.(?:com|org)\b/i, what: 'the host of a package registry' },
  { pattern: /\b(?:pypi|pythonhosted)\.(?:org|python\.org|io)\b/i, what: 'the host of a package registry' },
  // Not maven.apache.org, which every pom names as the place of its schema.
  {
    pattern: /\b(?:repo|repo1|search|central)\.(?:maven\.(?:apache\.)?org|sonatype\.\w+)\b/i,
    what: 'the host of a package registry',
  },
  { pattern: /\b(?:s01\.|oss\.)sonatype\.org\b/i, what: 'the host of a package registry' },
  {
    pattern: /\b(?:proxy|sum|index)\.golang\.org\b|\bpkg\.go\.dev\b|\bgoproxy\.\w+/i,
    what: 'the host of a package registry',
  },
  { pattern: /\bnpm\.pkg\.github\.com\b/i, what: 'the host of a package registry' },
  { pattern: /\b(?:artifactory|nexus|verdaccio)\.[\w-]+\.\w+/i, what: 'the host of a package registry' },
  { pattern: /^[ \t]*(?:@[\w-]+:)?registry\s*=/m, what: 'the setting of a package registry' },
  { pattern: /^[ \t]*(?:--)?(?:extra-)?index-url\b/m, what: 'the setting of a package registry' },
  { pattern: /\bGOPROXY\s*=\s*["']?https?:/, what: 'the setting of a package registry' },
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
