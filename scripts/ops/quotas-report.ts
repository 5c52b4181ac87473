import { big } from '../../shared/cost/cost-line';
import { SECONDS_OF_MONTH, samplesOfMonth } from '../../shared/cost/demand';
import { type QuotaLine, quotas } from '../../shared/cost/quotas';
import { type LoadOptions, loadOf, readUnits } from './cost-report';
import { stageFor } from './stage-template';
import { table } from './table';

/** The output of `ops quotas --json`. */
export interface QuotasReport {
  /** The command that deploys the stage whose limits are compared. */
  readonly deploy: string;
  readonly series: number;
  readonly tenants: number;
  readonly samplesPerSecond: number;
  /** The line nearest to its limit comes first. */
  readonly lines: readonly QuotaLine[];
}

/** @throws {OperatorError | InvalidSettingError | UnknownCostError} */
export function quotasReport(options: LoadOptions & { readonly peak: number }): QuotasReport {
  const measured = readUnits(options);
  const load = loadOf(options);
  const { deploy, template } = stageFor(load, options.stage, options.set);
  return {
    deploy,
    series: load.series,
    tenants: load.tenants,
    samplesPerSecond: samplesOfMonth(load) / SECONDS_OF_MONTH,
    lines: quotas(measured, load, template, options.peak),
  };
}

export function quotasText({ deploy, series, tenants, samplesPerSecond, lines }: QuotasReport) {
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
      ? `All fits. ${lines[0]!.what} would break first, at ${big(lines[0]!.breaksAtSeries)} series.`
      : `${beyond} of ${lines.length} limits are too low for this load.`,
  ].join('\n');
}
