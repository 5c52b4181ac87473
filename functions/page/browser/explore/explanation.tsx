import { useState } from 'preact/hooks';
import { TIERS } from '../../../../shared/model/tier';
import type { Explanation as Explained } from '../../../../shared/query/explanation';
import type { Api } from '../api/api';
import { resolutionFor } from '../api/promql-results';
import { counted, formatTime } from '../view/format';
import type { Span } from '../view/time-range';

export interface ExplanationProps {
  readonly api: Api;
  readonly query: string;
  readonly asTable: boolean;
  readonly span: Span;
  readonly utc: boolean;
}

/** A button that runs the query once more and shows what it reads. */
export function Explanation({ api, query, asTable, span, utc }: ExplanationProps) {
  const [shown, setShown] = useState<Explained | string>();
  const load = async () => {
    setShown('reading …');
    const end = String(span.toS);
    const times: Record<string, string> = asTable
      ? { time: end }
      : { start: String(span.fromS), end, step: String(resolutionFor(span)) };
    const path = asTable ? 'query' : 'query_range';
    try {
      const signal = AbortSignal.timeout(30_000);
      const fields = { query, ...times, explain: '1' };
      const { data } = await api.prometheus<{ readonly explain: Explained }>(path, fields, signal);
      setShown(data.explain);
    } catch (error) {
      setShown((error as Error).message);
    }
  };
  return (
    <div class="note">
      <button type="button" class="quiet" aria-label={`Explain ${query}`} onClick={load}>
        Explain
      </button>
      {typeof shown === 'string' && <p role="status">{shown}</p>}
      {typeof shown === 'object' && (
        <ul aria-label={`What ${query} reads`}>
          {shown.reads.map(
            ({ selector, from, to, series, read, why, rounds, rollupDays, tiers, ...cost }, i) => (
              <li key={`${i} ${selector}`}>
                <code>{selector}</code>, {formatTime(from, utc)} to {formatTime(to, utc)}:{' '}
                {counted(series, 'series', 'series')}, {read} ({why}), {counted(rollupDays, 'day')} of
                rollups, {counted(rounds, 'round')} behind memory;{' '}
                {TIERS.map(
                  (tier) =>
                    `${tier} ${tiers[tier].samples} samples in ${tiers[tier].bytes} bytes (${tiers[tier].why})`,
                ).join(', ')}
                ; at most {counted(cost.readUnits, 'read unit')} and {counted(cost.objectGets, 'request')} of
                S3: ${Number(cost.dollars.toPrecision(2))}
              </li>
            ),
          )}
          <li>
            {counted(shown.memoryCalls, 'call')} of memory, {counted(shown.tableCalls, 'call')} of DynamoDB
            with {counted(shown.readUnits, 'read unit')}, {counted(shown.objectGets, 'request')} of S3: $
            {Number(shown.dollars.toPrecision(2))}
          </li>
        </ul>
      )}
    </div>
  );
}
