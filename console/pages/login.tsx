/** Who looks: the session of the browser with the console, and how it begins and ends. */
import { useSignal } from '@preact/signals';
import { announce, answered, failed, needsLogin } from '../live/tab.js';
import { Heading, whoAmI } from '../parts/shell.js';
import { messageOf, send } from '../wire/client.js';

const JSON_BODY = { 'content-type': 'application/json' };

/** The version of the sidecar that this page came from. */
let loadedFrom: string | undefined;

/** Asks who the sidecar takes this browser for. */
export async function readSession(): Promise<void> {
  try {
    const said = await send('/session', {}, undefined);
    const { auth, principal, version } = wordsOf(said);
    loadedFrom ??= version;
    whoAmI.value = { principal, canLeave: auth && principal !== '', version, isOld: version !== loadedFrom };
    needsLogin.value = auth && principal === '';
    answered();
  } catch (error) {
    failed(error);
  }
}

function wordsOf(said: unknown): { readonly auth: boolean; readonly principal: string; readonly version: string } {
  if (typeof said !== 'object' || said === null) return { auth: false, principal: '', version: '' };
  const auth = 'auth' in said && said.auth === true;
  const principal = 'principal' in said && typeof said.principal === 'string' ? said.principal : '';
  const version = 'version' in said && typeof said.version === 'string' ? said.version : '';
  return { auth, principal, version };
}

export async function leave(): Promise<void> {
  await send('/logout', JSON_BODY, '{}').catch(failed);
  whoAmI.value = undefined;
  await readSession();
}

export function Login() {
  const token = useSignal('');
  const wrong = useSignal<string | undefined>(undefined);
  const isUnderWay = useSignal(false);
  const enter = async (): Promise<void> => {
    if (isUnderWay.value) return;
    isUnderWay.value = true;
    wrong.value = undefined;
    try {
      await send('/login', JSON_BODY, JSON.stringify({ token: token.value.trim() }));
      token.value = '';
      announce('Logged in');
      await readSession();
    } catch (error) {
      wrong.value = messageOf(error);
    }
    isUnderWay.value = false;
  };
  return (
    <>
      <Heading title="Log in">Log in</Heading>
      <form
        class="login"
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <label class="field">
          Your token
          <input
            type="password"
            autoComplete="current-password"
            required
            maxLength={16_384}
            value={token.value}
            onInput={(event) => {
              token.value = event.currentTarget.value;
            }}
          />
        </label>
        <p class="faint">
          The same token that your programs show. "keyturn token new NAME" makes one. It is kept in a cookie that no
          script can read.
        </p>
        {wrong.value !== undefined && (
          <p class="wrong" role="alert">
            {wrong.value}
          </p>
        )}
        <button type="submit" class="first" disabled={isUnderWay.value}>
          Log in
        </button>
      </form>
    </>
  );
}
