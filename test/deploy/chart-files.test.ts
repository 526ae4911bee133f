/** The files of the chart agree with each other and with the settings of the sidecar. Needs no program. */
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { KEEPALIVE_GROUP } from '../../src/config/keepalive-settings.js';
import { LIMITS_GROUP } from '../../src/config/limit-settings.js';
import { POLICY_GROUP } from '../../src/config/policy-settings.js';
import { SERVER_SETTINGS } from '../../src/config/server-settings.js';
import { fieldsOf, snakeCase } from '../../src/config/settings-table.js';
import { read } from '../project/repository.js';
import { at, list } from './tools.js';

const schema: unknown = JSON.parse(read('deploy/helm/keyturn/values.schema.json').text);
const values: unknown = parse(read('deploy/helm/keyturn/values.yaml').text);

const names = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.keys(value).sort() : [];
const settings = (table: object): readonly string[] => fieldsOf(table).map(snakeCase).sort();

/** What the chart says itself, and a store, which is a value of its own; its registry is the same Redis. */
const NOT_IN_VALUES = ['data_dir', 'http_listen', 'listen', 'registry', 'store'];

test('the schema knows every setting that a chart may say, and no other', () => {
  const process = settings(SERVER_SETTINGS).filter((name) => !NOT_IN_VALUES.includes(name));
  const config = at(schema, 'properties', 'config', 'properties');
  deepEqual(names(config), [...process, 'default', 'limits', 'queues', 'session_keepalive'].sort());
  deepEqual(names(at(config, 'session_keepalive', 'properties')), settings(KEEPALIVE_GROUP.table));
  deepEqual(names(at(config, 'limits', 'properties')), settings(LIMITS_GROUP.table));
  deepEqual(names(at(schema, 'definitions', 'policy', 'properties')), settings(POLICY_GROUP.table));
});

test('the schema knows every value, and the values file has every one that the schema knows', () => {
  const groups = names(at(schema, 'properties')).filter((name) => name !== 'global');
  deepEqual(groups, names(values));
  for (const group of groups.filter((name) => !['config', 'resources', 'affinity'].includes(name))) {
    const inSchema = names(at(schema, 'properties', group, 'properties'));
    if (inSchema.length > 0) deepEqual(inSchema, names(at(values, group)), group);
  }
});

test('the page of the chart has a row for every value', () => {
  const rows = [...read('deploy/helm/keyturn/README.md').text.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name);
  const wanted = names(values).flatMap((group) => {
    const properties = names(at(schema, 'properties', group, 'properties'));
    return properties.length === 0 || group === 'config' ? [group] : properties.map((name) => `${group}.${name}`);
  });
  deepEqual(rows.toSorted(), wanted.sort());
});

test('chart, component and image are of the version of Keyturn', () => {
  const version = at(JSON.parse(read('package.json').text), 'version');
  const chart: unknown = parse(read('deploy/helm/keyturn/Chart.yaml').text);
  deepEqual([at(chart, 'version'), at(chart, 'appVersion')], [version, version]);
  const patch: unknown = parse(read('deploy/kustomize/sidecar/pod-template.yaml').text);
  equal(at(list(at(patch, 'spec', 'template', 'spec', 'initContainers'))[0], 'image'), `keyturn:${version}`);
});
