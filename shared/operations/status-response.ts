import * as z from 'zod';

const durationMs = z.number().min(0).meta({ description: 'ms' });
const count = z.int().min(0);

/** How far a tenant's data has moved through the tiers. */
export const status = z
  .object({
    atMs: z.int().meta({ description: 'Time of this status, as Unix time in ms.' }),
    stream: z.object({
      behindMs: durationMs.nullable().meta({
        description:
          'How far the slowest reader of the stream is behind; 0 when nothing waits, null when no reader has said anything yet. A reader that stopped shows after a minute and a half.',
      }),
    }),
    flush: z.object({
      windows: count.meta({ description: 'Group-windows in memory.' }),
      oldestMs: durationMs.nullable().meta({
        description: 'Age of the oldest group-window in memory; null when there are none.',
      }),
      residencyMs: durationMs.meta({
        description: 'Time that a group-window stays in memory: its length plus the flush delay.',
      }),
      behindMs: durationMs.meta({
        description: 'How much longer than residencyMs the oldest group-window has stayed in memory.',
      }),
    }),
    rules: z
      .object({
        groups: count.meta({ description: 'Rule groups of all tenants.' }),
        behindMs: durationMs.meta({
          description:
            'How late the latest group is; how long ago the last run was, beyond a minute, included.',
        }),
        failing: count.meta({ description: 'Rules and groups that failed in the last run.' }),
        outboxMs: durationMs.meta({ description: 'How long the oldest unsent notification has waited.' }),
        dropped: count.meta({ description: 'Notifications that the last run gave up on.' }),
      })
      .nullable()
      .meta({
        description: 'State of rule evaluation for all tenants; null until the evaluator has run once.',
      }),
    archive: z
      .object({
        days: count.meta({ description: 'Partition-days that have samples beyond memory.' }),
        openDays: count.meta({ description: 'Partition-days that wait for the archiver.' }),
        behindMs: durationMs.meta({
          description: 'How long ago the oldest open day should have been archived.',
        }),
        samples: count.meta({ description: "What the archive's objects hold." }),
        bytes: count,
      })
      .nullable()
      .meta({ description: 'null for a tenant with too many partitions to query.' }),
    usage: z
      .object({
        samples: count.meta({ description: 'Samples acknowledged this month, as of half a minute ago.' }),
        reads: count.meta({ description: 'Requests of this month that read samples.' }),
        days: z
          .array(z.object({ day: z.string(), samples: count, reads: count }))
          .meta({ description: 'Days of the last four weeks that have any use, in UTC, the oldest first.' }),
        series: z.object({
          active: count.meta({ description: 'Approximate number of series with samples in the last day.' }),
          stored: count.meta({ description: 'Series that may still have samples, as of the last count.' }),
        }),
        bytes: z.object({
          hot: count.nullable().meta({
            description:
              'Memory, estimated from a few group-windows; null where there are too many partitions.',
          }),
          warm: count.meta({
            description: 'Chunk bytes written on the days that may not be archived yet, rewrites included.',
          }),
          cold: count.nullable().meta({ description: 'As `archive.bytes`.' }),
        }),
        dollars: z.number().min(0).meta({ description: 'Approximate cost of this month so far.' }),
        cost: z.array(z.object({ what: z.string(), because: z.string(), dollars: z.number() })),
      })
      .meta({ description: 'The month so far, in UTC.' }),
  })
  .meta({ id: 'Status' });
