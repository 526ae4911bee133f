/** What a query asks for, read by the grammar that Prometheus' own editor uses. Variables of Grafana must be put in first. */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

export interface Matcher {
  readonly label: string;
  /** `=`, `!=`, `=~` or `!~`. */
  readonly operator: string;
  readonly value: string;
}

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** What stands around it, innermost first: functions by their names, `[5m]` for a range. */
  readonly within: readonly string[];
}

export interface Asked {
  readonly selectors: readonly Selector[];
  /** Labels by which something is grouped or joined. */
  readonly groupedBy: readonly string[];
}

/** @throws when the grammar does not know what it is */
export function readQuery(query: string): Asked {
  const selectors: Selector[] = [];
  const groupedBy: string[] = [];
  const text = (node: SyntaxNode | null) => (node === null ? '' : query.slice(node.from, node.to));
  const tree = parser.parse(query);
  tree.iterate({
    enter(at) {
      if (at.type.isError) throw new Error(`not PromQL at ${at.from}: ${query}`);
      if (at.name === 'VectorSelector') selectors.push(selectorOf(at.node, text));
      if (at.name === 'GroupingLabels') groupedBy.push(...at.node.getChildren('LabelName').map((label) => text(label)));
    },
  });
  return { selectors, groupedBy };
}

type Text = (node: SyntaxNode | null) => string;

function selectorOf(node: SyntaxNode, text: Text): Selector {
  const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
  return {
    metric: text(node.getChild('Identifier')),
    matchers: matchers.map((matcher) => ({
      label: text(matcher.getChild('LabelName')),
      operator: text(matcher.getChild('MatchOp')),
      value: String(JSON.parse(text(matcher.getChild('StringLiteral')))),
    })),
    within: around(node, text),
  };
}

function around(node: SyntaxNode, text: Text): readonly string[] {
  const found: string[] = [];
  for (let at = node.parent; at !== null; at = at.parent) {
    if (at.name === 'FunctionCall') found.push(text(at.getChild('FunctionIdentifier')));
    if (at.name === 'AggregateExpr') found.push(text(at.getChild('AggregateOp')));
    if (at.name === 'MatrixSelector') found.push(`[${text(at.getChild('DurationExpr'))}]`);
  }
  return found;
}
