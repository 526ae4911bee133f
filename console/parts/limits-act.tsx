/** Changing the rate and the live turns of a queue while it runs. */
import { useSignal } from '@preact/signals';
import type { QueueInfo } from '../gen/keyturn/v1/admin.js';
import { ask, type Json } from '../wire/client.js';
import { Act } from './act.js';

interface LimitsActProps {
  readonly queue: Json<QueueInfo>;
  readonly done: () => void;
}

export function LimitsAct({ queue, done }: LimitsActProps) {
  const { name = '', policy, liveTurns = 0 } = queue;
  const perSecond = useSignal('');
  const burst = useSignal('');
  const inFlight = useSignal('');
  return (
    <Act
      name="Change limits"
      says={() => {
        perSecond.value = String(policy?.rate?.perSecond ?? 0);
        burst.value = String(policy?.rate?.burst ?? 1);
        inFlight.value = String(policy?.maxInFlight ?? 0);
        return (
          <p>
            Changes what queue {name} is limited to, until the sidecar is started anew. 0 means no limit. {liveTurns}{' '}
            turns live now; those that live go on.
          </p>
        );
      }}
      fields={
        <div class="fields">
          <NumberField label="Turns per second" value={perSecond} step="any" />
          <NumberField label="Burst: turns at once after a pause" value={burst} step="1" />
          <NumberField label="Live turns (max_in_flight)" value={inFlight} step="1" />
        </div>
      }
      does={async ({ reason }) => {
        const rate = Number(perSecond.value);
        const told = await ask('SetLimits', {
          queue: name,
          rate: { perSecond: rate, burst: rate === 0 ? 0 : Number(burst.value) },
          maxInFlight: Number(inFlight.value),
          reason,
        });
        const now =
          told.rate === undefined
            ? 'no rate'
            : `${told.rate.perSecond ?? 0} turns a second, burst ${told.rate.burst ?? 0}`;
        const turns = (told.maxInFlight ?? 0) === 0 ? 'any number of' : `at most ${told.maxInFlight}`;
        return `Queue ${name} has ${now}, and ${turns} live turns.`;
      }}
      done={done}
    />
  );
}

function NumberField(props: { readonly label: string; readonly value: { value: string }; readonly step: string }) {
  const { label, value, step } = props;
  return (
    <label class="field">
      {label}
      <input
        type="number"
        min="0"
        step={step}
        required
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}
