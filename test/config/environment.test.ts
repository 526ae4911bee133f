/** Variables that begin with our name and are nobody's settings. */
import { deepEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/config.js';

/** What Kubernetes puts into every container of a namespace with such a Service, whose port is called grpc. */
function variablesOf(service: string): Readonly<Record<string, string>> {
  const name = service.toUpperCase().replaceAll('-', '_');
  const port = `${name}_PORT_7420_TCP`;
  return {
    [`${name}_SERVICE_HOST`]: '10.0.0.7',
    [`${name}_SERVICE_PORT`]: '7420',
    [`${name}_SERVICE_PORT_GRPC`]: '7420',
    [`${name}_PORT`]: 'tcp://10.0.0.7:7420',
    [port]: 'tcp://10.0.0.7:7420',
    [`${port}_PROTO`]: 'tcp',
    [`${port}_PORT`]: '7420',
    [`${port}_ADDR`]: '10.0.0.7',
  };
}

for (const service of [
  'keyturn',
  'keyturn-tls',
  'keyturn-data',
  'keyturn-listen',
  'keyturn-7',
  'keyturn-orders-keyturn',
]) {
  test(`S213: a Service that is called ${service} is no setting, and is not warned of`, () => {
    deepEqual(loadConfig({}, variablesOf(service)).warnings, []);
  });
}

test('S213: a port that a person has written is warned of, or refused when it is close to a setting', () => {
  deepEqual(loadConfig({}, { KEYTURN_HTTP_PORT: '7421' }).warnings.length, 1);
  throws(() => loadConfig({}, { KEYTURN_TLS_PORT: '7421' }), /KEYTURN_TLS_PORT" is not a setting; did you mean/);
});
