/** A changing act: says what it will do and to how many, asks once, and shows what it did. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { announce, failed, openQuestions } from '../live/tab.js';
import { messageOf } from '../wire/client.js';

interface ActProps {
  /** On the button. */
  readonly name: string;
  /** What it will do. It is worked out when the button is pressed. */
  readonly says: () => ComponentChildren | Promise<ComponentChildren>;
  /** Does it. @returns what it did, a sentence */
  readonly does: (doing: Doing) => Promise<string>;
  /** It is done in steps: how far it is stands there, and it can be called off between two. */
  readonly isLong?: boolean;
  /** After it was done: what is on the page is old. */
  readonly done?: () => void;
  readonly isFinal?: boolean;
  readonly isFirst?: boolean;
  /** What has to be said for it. */
  readonly fields?: ComponentChildren;
}

/** What is known while it is done. */
export interface Doing {
  /** Why, for the audit. Empty: nobody said. */
  readonly reason: string;
  /** How many of how many are done. */
  tell(done: number, of: number): void;
  readonly isCalledOff: () => boolean;
}

/** As long as the sidecar takes it, in bytes; it says so of a text with fewer characters that has more. */
const LONGEST_REASON = 256;

type Step = 'closed' | 'asking' | 'ready' | 'doing' | 'did';

export function Act(props: ActProps) {
  const step = useSignal<Step>('closed');
  const isFinal = props.isFinal === true ? 'final' : '';
  return (
    <>
      <button
        type="button"
        class={`${isFinal} ${props.isFirst === true ? 'first' : ''}`}
        aria-haspopup="dialog"
        onClick={() => {
          step.value = 'asking';
        }}
      >
        {props.name}…
      </button>
      {step.value !== 'closed' && <Question {...props} step={step} />}
    </>
  );
}

function Question(props: ActProps & { readonly step: { value: Step } }) {
  const { name, says, does, done, step, isFinal, fields, isLong } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const text = useSignal<ComponentChildren>('');
  const wrong = useSignal<string | undefined>(undefined);
  const reason = useSignal('');
  const far = useSignal<{ readonly done: number; readonly of: number } | undefined>(undefined);
  const isCalledOff = useSignal(false);
  const id = useId();

  useEffect(() => {
    openQuestions.value += 1;
    return () => {
      openQuestions.value -= 1;
    };
  }, []);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // Apart from this turn: what it throws is told here as well.
    Promise.resolve()
      .then(says)
      .then(
        (said) => {
          text.value = said;
          step.value = 'ready';
        },
        (error: unknown) => {
          wrong.value = messageOf(error);
        },
      );
    return () => element?.close();
  }, []);

  const isStillAsked = (): boolean => step.value === 'doing';
  const go = async (): Promise<void> => {
    // A second press while it is done is none.
    if (step.value !== 'ready') return;
    step.value = 'doing';
    wrong.value = undefined;
    try {
      isCalledOff.value = false;
      const did = await does({
        reason: reason.value.trim(),
        tell: (count, of) => {
          far.value = { done: count, of };
        },
        isCalledOff: () => isCalledOff.value,
      });
      announce(did);
      done?.();
      // A browser may close a dialog against its page. It is not opened again.
      if (!isStillAsked()) return;
      text.value = did;
      step.value = 'did';
    } catch (error) {
      failed(error);
      if (!isStillAsked()) return announce(messageOf(error));
      wrong.value = messageOf(error);
      step.value = 'ready';
    }
  };

  const isDone = step.value === 'did';
  const leave = (): void => {
    step.value = 'closed';
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      onClose={(event) => {
        // One that is gone already tells of its closing, too, when the next one may be open.
        if (event.currentTarget.isConnected) leave();
      }}
      onCancel={(event) => {
        // Closed by us, at once: the browser tells of its own closing later, when the button may have been pressed again.
        event.preventDefault();
        // What is on its way cannot be called back by closing the question.
        if (step.value !== 'doing') leave();
      }}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (isDone) leave();
          else void go();
        }}
      >
        <h2 id={`${id}-title`}>{isDone ? 'Done' : `${name}?`}</h2>
        <div id={`${id}-text`} class="says" role={isDone ? 'status' : undefined}>
          {step.value === 'asking' && wrong.value === undefined ? 'Looking at what it would do…' : text.value}
        </div>
        {!isDone && fields}
        {!isDone && (
          <label class="field">
            Reason, for the audit (may be left out)
            <input
              type="text"
              maxLength={LONGEST_REASON}
              value={reason.value}
              disabled={step.value === 'doing'}
              onInput={(event) => {
                reason.value = event.currentTarget.value;
              }}
            />
          </label>
        )}
        {step.value === 'doing' && far.value !== undefined && <Far of={far.value} />}
        {wrong.value !== undefined && (
          <p class="wrong" role="alert">
            {wrong.value}
          </p>
        )}
        <div class="buttons">
          {!isDone && (
            <button type="submit" class={isFinal === true ? 'final' : 'first'} disabled={step.value !== 'ready'}>
              {step.value === 'doing' ? 'Under way…' : name}
            </button>
          )}
          {step.value === 'doing' && isLong === true ? (
            <button
              type="button"
              disabled={isCalledOff.value}
              onClick={() => {
                isCalledOff.value = true;
              }}
            >
              {isCalledOff.value ? 'Stops after this step…' : 'Call off the rest'}
            </button>
          ) : (
            <button
              type={isDone ? 'submit' : 'button'}
              disabled={step.value === 'doing'}
              onClick={() => isDone || leave()}
            >
              {isDone ? 'Close' : 'Do nothing'}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

function Far({ of: { done, of } }: { readonly of: { readonly done: number; readonly of: number } }) {
  const words = `${done.toLocaleString('en')} of ${of.toLocaleString('en')}`;
  return (
    <p>
      <progress value={done} max={Math.max(1, of)} aria-label="How many are done" /> {words}
    </p>
  );
}
