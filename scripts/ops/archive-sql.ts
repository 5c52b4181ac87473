import type { ArchivePlace } from '../../shared/operations/archive-commands';

/** SQL statements that read a tenant's archive in the bucket. */
export interface ArchiveSql {
  /** For Athena: creates a table with all tenants listed in `tenant.values`. Partitions need not be added. */
  readonly athena: string;
  /** For DuckDB: gives access to the bucket, and queries the hourly means and maxima of all series. */
  readonly duckdb: string;
}

/**
 * @param region the bucket's region
 */
export function archiveSql(place: ArchivePlace, region: string, nowMs: number): ArchiveSql {
  const { bucket, prefix, tenantId } = place;
  const location = `s3://${bucket}/${prefix}`;
  const firstDay = place.firstDay ?? new Date(nowMs).toISOString().slice(0, 10);
  return {
    athena: `-- Tenant ${place.tenant}. For several tenants, list their ids in projection.tenant.values, separated by commas.
CREATE EXTERNAL TABLE heterotsdb_samples (
  name string,
  host string,
  labels string,
  \`timestamp\` timestamp,
  value double
)
PARTITIONED BY (tenant string, \`date\` string)
STORED AS PARQUET
LOCATION '${location}'
TBLPROPERTIES (
  'projection.enabled' = 'true',
  'projection.tenant.type' = 'enum',
  'projection.tenant.values' = '${tenantId}',
  'projection.date.type' = 'date',
  'projection.date.format' = 'yyyy-MM-dd',
  'projection.date.range' = '${firstDay},NOW+2DAYS',
  'storage.location.template' = '${location}tenant=\${tenant}/date=\${date}/'
);`,
    duckdb: `INSTALL httpfs;
LOAD httpfs;
CREATE SECRET (TYPE s3, PROVIDER credential_chain, REGION '${region}');
-- Stale markers of Prometheus are NaN.
SELECT name, host, labels, time_bucket(INTERVAL 1 HOUR, timestamp) AS hour, avg(value) AS mean, max(value) AS highest
FROM read_parquet('${location}tenant=${tenantId}/date=*/*.parquet', hive_partitioning = true)
WHERE date >= DATE '${firstDay}' AND NOT isnan(value)
GROUP BY ALL
ORDER BY name, host, hour;`,
  };
}
