/** The Dockerfile, as far as it can be read without a container engine. */
import { Copy as CopyInstruction, DockerfileParser } from 'dockerfile-ast';
import { read } from './repository.js';

export interface Copy {
  /** The name of a stage; unset: from the repository. */
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly target: string;
}

export interface Stage {
  /** Empty for the last one, which has no name. */
  readonly name: string;
  readonly base: string;
  readonly copies: readonly Copy[];
  /** Shell commands of RUN. */
  readonly runs: readonly string[];
}

export interface ImageFile {
  readonly text: string;
  readonly stages: readonly Stage[];
  /** Of the last stage. */
  readonly environment: Readonly<Record<string, string>>;
  /** The words of ENTRYPOINT and CMD together. */
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
  readonly user: string;
  readonly ports: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

export function readDockerfile(): ImageFile {
  const { text } = read('Dockerfile');
  const parsed = DockerfileParser.parse(text);
  const all = parsed.getInstructions().map((instruction) => ({
    keyword: instruction.getKeyword(),
    /** Without its flags. */
    content: instruction.getArgumentsContent() ?? '',
    from: (instruction instanceof CopyInstruction && instruction.getFromFlag()?.getValue()) || undefined,
  }));
  // Those before the first stage, with what they are if nobody says otherwise.
  const isGlobal = all.slice(
    0,
    all.findIndex(({ keyword }) => keyword === 'FROM'),
  );
  const globals = Object.fromEntries(isGlobal.map(({ content }) => assignment(content)));
  const stages: (Stage & { copies: Copy[]; runs: string[] })[] = [];
  for (const { keyword, content, from } of all) {
    if (keyword === 'FROM') stages.push(stageOf(withArguments(content, globals)));
    if (keyword === 'COPY') stages.at(-1)?.copies.push(copyOf(content, from));
    if (keyword === 'RUN') stages.at(-1)?.runs.push(content);
  }
  const last = all.slice(all.findLastIndex(({ keyword }) => keyword === 'FROM'));
  const content = (keyword: string) => last.find((one) => one.keyword === keyword)?.content ?? '';
  return {
    text,
    stages,
    environment: Object.fromEntries(content('ENV').split(/\s+/).map(assignment)),
    command: [...wordsOf(content('ENTRYPOINT')), ...wordsOf(content('CMD'))],
    healthCheck: wordsOf(content('HEALTHCHECK').replace(/^.*?CMD\s+/, '')),
    user: content('USER'),
    ports: content('EXPOSE').split(/\s+/),
    labels: Object.fromEntries(
      [...content('LABEL').matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    ),
  };
}

function withArguments(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
}

function stageOf(content: string): Stage & { copies: Copy[]; runs: string[] } {
  const [base = '', , name = ''] = content.split(/\s+/);
  return { name, base, copies: [], runs: [] };
}

function copyOf(content: string, from: string | undefined): Copy {
  const paths = content.split(/\s+/);
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' };
}

function assignment(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The exec form. The shell form is not used here: it would need a shell, and hide signals from the process. */
function wordsOf(content: string): readonly string[] {
  const words: unknown = JSON.parse(content);
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
    throw new TypeError(`not a list of words: ${content}`);
  return words;
}
