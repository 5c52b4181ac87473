import type { TierShare } from '../api/server-timing';
import { counted, formatTime } from '../view/format';
import type { Span } from '../view/time-range';
import type { TimeAxis } from './graph-panel';

export interface TierStripProps {
  readonly tiers: readonly TierShare[];
  readonly span: Span;
  readonly utc: boolean;
  readonly axis: TimeAxis | undefined;
}

const MEANING = {
  hot: 'in memory',
  warm: 'in DynamoDB',
  cold: 'in the archive on S3',
} as const;

/**
 * Shows which tiers a graph's samples are in: a band along the time axis for each tier, with its number of
 * samples.
 */
export function TierStrip({ tiers, span, utc, axis }: TierStripProps) {
  const lengthS = span.toS - span.fromS;
  const percent = (timeS: number) =>
    (100 * Math.min(1, Math.max(0, (timeS - span.fromS) / lengthS))).toFixed(2);
  return (
    <div class="tiers">
      <div
        class="bands"
        aria-hidden="true"
        style={axis === undefined ? {} : { marginLeft: `${axis.left}px`, width: `${axis.width}px` }}
      >
        {tiers.map(({ tier, spans }) => (
          <div key={tier} class={`band ${tier}`}>
            {spans.map(({ fromS, toS }) => (
              <span
                key={fromS}
                style={{
                  left: `${percent(fromS)}%`,
                  width: `calc(${percent(toS)}% - ${percent(fromS)}% + 2px)`,
                }}
                title={`${tier}: ${formatTime(fromS, utc)} to ${formatTime(toS, utc)}`}
              />
            ))}
          </div>
        ))}
      </div>
      <ul class="shares" aria-label="Where the data is">
        {tiers.map(({ tier, samples }) => (
          <li key={tier} class={samples === 0 ? 'none' : ''} title={`${tier}: ${MEANING[tier]}`}>
            <i class={`swatch ${tier}`} />
            <b>{tier}</b> {counted(samples, 'sample')}
          </li>
        ))}
      </ul>
    </div>
  );
}
