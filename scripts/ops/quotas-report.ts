import { big } from '../../shared/cost/cost-line';
import { SECONDS_OF_MONTH, samplesOfMonth } from '../../shared/cost/demand';
import { quotas } from '../../shared/cost/quotas';
import { type LoadOptions, loadOf, readUnits } from './cost-report';
import { stageFor } from './stage-template';
import { table } from './table';

/**
 * Returns what `ops quotas --json` prints. `deploy` is the command that deploys the stage.
 *
 * @throws {OperatorError | InvalidSettingError | UnknownCostError}
 */
export function quotasReport(options: LoadOptions & { readonly peak: number }) {
  const measured = readUnits(options);
  const load = loadOf(options);
  const { deploy, template } = stageFor(load, options.stage, options.set);
  return {
    deploy,
    series: load.series,
    tenants: load.tenants,
    samplesPerSecond: samplesOfMonth(load) / SECONDS_OF_MONTH,
    /** The line nearest to its limit comes first. */
    lines: quotas(measured, load, template, options.peak),
  };
}

export function quotasText({
  deploy,
  series,
  tenants,
  samplesPerSecond,
  lines,
}: ReturnType<typeof quotasReport>) {
  const beyond = lines.filter(({ share }) => share > 1).length;
  return [
    `${big(series)} series of ${big(tenants)} ${tenants === 1 ? 'tenant' : 'tenants'}, ${big(samplesPerSecond)} samples a second, on`,
    `  ${deploy}`,
    '',
    table(
      ['share', 'needs', 'limit', 'what', 'breaks at', 'raised by', 'by'],
      lines.map(({ share, needs, limit, what, breaksAtSeries, raisedBy, remedy }) => [
        `${(100 * share).toPrecision(3)} %`,
        big(needs),
        big(limit),
        what,
        `${big(breaksAtSeries)} series`,
        raisedBy,
        remedy,
      ]),
    ),
    '',
    beyond === 0
      ? `The load is within all limits. ${lines[0]!.what} would break first, at ${big(lines[0]!.breaksAtSeries)} series.`
      : `${beyond} of ${lines.length} limits are too low for this load.`,
  ].join('\n');
}
