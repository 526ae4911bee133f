/** What must hold between the settings of TLS, and whether the files that they name can serve. */
import type { Problems } from './problem.js';
import { examineTls, readTlsFilesNow } from './tls-files.js';
import { TLS_NAMES, TLS_SETTINGS, type TlsSettings } from './tls-settings.js';
import { showText } from './written.js';

type File = keyof TlsSettings;

/** @param placeOf where a setting was written */
export function checkTls(settings: TlsSettings, placeOf: (file: File) => string, problems: Problems): void {
  const { cert, key, clientCa } = settings;
  // What was refused as a path is told, and reads as an empty one.
  if ([cert, key, clientCa].includes('')) return;
  const add = (file: File, place: File, what: string) => problems.add(TLS_NAMES[file], placeOf(place), what);
  if (cert !== undefined && key === undefined) add('key', 'cert', missing('key', 'cert'));
  else if (cert === undefined && key !== undefined) add('cert', 'key', missing('cert', 'key'));
  else if (cert === undefined && clientCa !== undefined)
    add('clientCa', 'clientCa', `is ${showText(clientCa)}, but without TLS no client shows a certificate; ${needs()}`);
  if (cert === undefined || key === undefined) return;
  const examined = examineTls(settings, readTlsFilesNow(settings));
  if (!examined.ok) for (const { file, what } of examined.problems) add(file, file, what);
}

function missing(file: File, other: File): string {
  return `is missing (${TLS_SETTINGS[file].flag}, ${TLS_SETTINGS[file].env}), must be given with ${TLS_NAMES[other]}`;
}

function needs(): string {
  return `needs ${TLS_NAMES.cert} (${TLS_SETTINGS.cert.flag}) and ${TLS_NAMES.key} (${TLS_SETTINGS.key.flag})`;
}
