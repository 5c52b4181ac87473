import { until } from './until';

/**
 * Like `fetch`, but repeats a request that is answered with 503, as agents do. A stack that uses AWS's freedoms returns
 * such answers.
 */
export function patientFetch(url: URL | string, init?: RequestInit): Promise<Response> {
  return until(
    `${init?.method ?? 'GET'} ${String(url).slice(0, 200)} is answered`,
    () => fetch(url, init),
    ({ status }) => status !== 503,
  );
}
