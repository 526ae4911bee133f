/** Bytes of a person's program: shown when asked for, by their kind, in full. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { bytesOf, hexOf, payloadOf, sizeOf } from '../words/payload.js';
import { Text } from './small.js';

interface PayloadProps {
  /** base64 */
  readonly of: string | undefined;
  readonly name: string;
}

export function Payload({ of, name }: PayloadProps) {
  const isOpen = useSignal(false);
  const size = Math.floor(((of ?? '').replace(/=+$/, '').length * 3) / 4);
  if (size === 0) return <span class="faint">empty</span>;
  return (
    <details
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>
        {name}, {sizeOf(size)}
      </summary>
      {isOpen.value && <Shown of={of} name={name} />}
    </details>
  );
}

/** Of a dump; the file has all of it. */
const HEX_BYTES = 65_536;

function Shown({ of, name }: PayloadProps) {
  const bytes = useMemo(() => bytesOf(of), [of]);
  const payload = useMemo(() => payloadOf(bytes), [bytes]);
  const isImage = payload.kind === 'image';
  // A picture is drawn, and nothing else: as a file it is bytes of no kind.
  const url = useBlob(bytes, 'application/octet-stream');
  const picture = useBlob(bytes, isImage ? payload.type : 'application/octet-stream');
  return (
    <div class="payload">
      <p class="faint">
        {KINDS[payload.kind]}{' '}
        {url !== undefined && (
          <a href={url} download={`${name}.bin`}>
            Save as a file
          </a>
        )}
      </p>
      {isImage && picture !== undefined && <img src={picture} alt={`What is in the ${name}`} />}
      {payload.kind === 'json' && <pre>{payload.text}</pre>}
      {payload.kind === 'text' && (
        <pre>
          {payload.text.split('\n').map((line, at) => (
            <div key={at}>
              <Text of={line} />
            </div>
          ))}
        </pre>
      )}
      {payload.kind === 'bytes' && <pre>{hexOf(bytes, HEX_BYTES)}</pre>}
      {payload.kind === 'bytes' && bytes.length > HEX_BYTES && (
        <p class="faint">The first {sizeOf(HEX_BYTES)}; the file has all.</p>
      )}
    </div>
  );
}

const KINDS = {
  empty: 'Empty.',
  json: 'JSON.',
  text: 'Text.',
  image: 'A picture.',
  bytes: 'Bytes, as protobuf is; in hex.',
} as const;

function useBlob(bytes: Uint8Array<ArrayBuffer>, type: string): string | undefined {
  const url = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return url.value;
}
