/** A part of a page: what breaks in it, or is not told, is said there, and the others stay. */
import { Component, type ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Unavailable } from '../gen/keyturn/v1/admin.js';
import { type Asked, errorOf } from '../live/asked.js';
import { awaySince } from '../live/tab.js';
import type { Json } from '../wire/client.js';
import { messageOf } from '../wire/client.js';

interface PartProps {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  readonly aside?: ComponentChildren;
}

export function Part({ title, children, aside }: PartProps) {
  const id = useId();
  return (
    <section class="part" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      <Fence>{children}</Fence>
    </section>
  );
}

/** Keeps what broke within it. */
export class Fence extends Component<{ readonly children: ComponentChildren }, { broken: string | undefined }> {
  override state: { broken: string | undefined } = { broken: undefined };

  override componentDidCatch(error: unknown): void {
    this.setState({ broken: messageOf(error) });
  }

  override render() {
    const { broken } = this.state;
    if (broken === undefined) return <>{this.props.children}</>;
    return (
      <p class="wrong" role="alert">
        This part of the page failed: {broken}{' '}
        <button type="button" onClick={() => this.setState({ broken: undefined })}>
          Show it again
        </button>
      </p>
    );
  }
}

interface ToldProps<A> {
  readonly asked: Asked<A>;
  readonly children: (data: A) => ComponentChildren;
}

/** What was told, with what is wrong about it before it. A sidecar that is away is said once, above the page. */
export function Told<A>({ asked, children }: ToldProps<A>) {
  const data = asked.data.value;
  const error = errorOf(asked);
  return (
    <>
      {error !== undefined && awaySince.value === undefined && (
        <p class="wrong" role="alert">
          {error}
        </p>
      )}
      {data === undefined ? error === undefined && <p class="faint">Asking…</p> : children(data)}
    </>
  );
}

/** Partitions of a cluster that could not be asked: what is shown is not all. */
export function Missing({ of = [] }: { readonly of?: readonly Json<Unavailable>[] | undefined }) {
  if (of.length === 0) return null;
  return (
    <div class="wrong" role="status">
      <p>This is not all: {of.length === 1 ? 'a partition' : `${of.length} partitions`} could not be asked.</p>
      <ul>
        {of.slice(0, 5).map(({ partition = 0, why }) => (
          <li key={partition}>
            Partition {partition}: {why}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What is wider than the page is moved by itself, with the keyboard too. */
export function Scroll({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
