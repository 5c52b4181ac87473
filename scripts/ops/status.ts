import type { Command } from 'commander';
import { durationText } from '../../shared/model/duration';
import type { TenantStatus } from '../../shared/operations/status';
import { type CommonOptions, callOperator, command } from './command';
import { table } from './table';

/** `ops status`. */
export function statusCommand(): Command {
  return command('status', "show how far a tenant's data has moved through the tiers")
    .option('--tenant <name>', 'the tenant', 'default')
    .action((options: CommonOptions & { tenant: string }) =>
      callOperator(options, { command: 'status', tenant: options.tenant }, statusText),
    );
}

export function statusText({ stream, rules, flush, archive, usage }: TenantStatus): string {
  const { series, bytes } = usage;
  return table(
    ['stage', 'behind', 'what it holds'],
    [
      ['stream', behind(stream.behindMs), 'records that wait for the ingester'],
      [
        'memory',
        behind(flush.behindMs),
        `${flush.windows} group-windows${sized(bytes.hot)}${flush.oldestMs === null ? '' : `, the oldest from ${seconds(flush.oldestMs)} ago`}; each stays ${seconds(flush.residencyMs)}`,
      ],
      ['warm', '-', `${bytes.warm} bytes`],
      archive === null
        ? ['archive', 'unknown', 'not counted: the tenant has too many partitions']
        : [
            'archive',
            behind(archive.behindMs),
            `${archive.samples} samples${sized(archive.bytes)}; ${archive.openDays} of ${archive.days} partition-days wait for the archiver`,
          ],
      rules === null
        ? ['rules', '-', 'the evaluator has not run yet']
        : [
            'rules',
            behind(rules.behindMs),
            `${rules.groups} groups of all tenants, ${rules.failing} failing; the oldest unsent notification has waited ${seconds(rules.outboxMs)}, ${rules.dropped} were given up in the last run`,
          ],
      [
        'this month',
        '-',
        `${usage.samples} samples, ${series.active} active of ${series.stored} series, $${usage.dollars.toFixed(2)}`,
      ],
    ],
  );
}

function behind(ms: number | null): string {
  return ms === null ? 'unknown' : seconds(ms);
}

function seconds(ms: number): string {
  return durationText(Math.round(ms / 1000) * 1000);
}

function sized(bytes: number | null): string {
  return bytes === null ? '' : `, ${bytes} bytes`;
}
