import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { type MetaKind, TABLE_KEYS } from '../../shared/platform/names';
import { pinLogicalId } from '../logical-id';
import { awsMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';

export interface TablesProps {
  /**
   * Whether DynamoDB refuses to delete the tables, even for an administrator.
   * @default true
   */
  readonly deletionProtection?: boolean;
}

/** Actions on items, by purpose. They match exactly the calls that the code makes. */
export const ITEM_ACTIONS = {
  get: ['dynamodb:GetItem'],
  read: ['dynamodb:GetItem', 'dynamodb:Query'],
  readMany: ['dynamodb:BatchGetItem'],
  count: ['dynamodb:UpdateItem'],
  put: ['dynamodb:PutItem'],
  write: ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
  insert: ['dynamodb:PartiQLInsert'],
  delete: ['dynamodb:DeleteItem'],
  scan: ['dynamodb:Scan'],
} as const;

/** Kinds of catalogue items, which every function that appends or flushes samples writes. */
export const CATALOGUE_KINDS = ['changes', 'index', 'layouts', 'sources'] as const satisfies MetaKind[];

/**
 * The two tables. `warm` holds the warm tier's chunks; `meta` holds keys, tenants, hosts, services, layouts,
 * placement and manifest.
 *
 * Both are billed on demand, because their load comes in bursts with each flush. They are encrypted with the key that
 * DynamoDB owns, which costs nothing; a key of our own would add KMS calls for every table and caller.
 */
export class Tables extends Construct implements Monitored {
  readonly warm: Table;
  readonly meta: Table;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: TablesProps = {}) {
    super(scope, id);
    const deletionProtection = props.deletionProtection ?? true;
    this.warm = this.addTable('WarmTable', deletionProtection);
    this.meta = this.addTable('MetaTable', deletionProtection);

    const tableNames = { warm: this.warm.tableName, meta: this.meta.tableName };
    this.alarms = Object.entries(tableNames).flatMap(([table, tableName]) =>
      (['reads', 'writes'] as const).map((calls) => ({
        name: `table-throttled-${table}-${calls}`,
        text: 'table-throttled' as const,
        subject: `${calls} of the ${table} table`,
        metric: awsMetric.table(calls === 'reads' ? 'ReadThrottleEvents' : 'WriteThrottleEvents', tableName),
        above: 0,
        within: [5, 10] as const,
      })),
    );
    this.graphs = [
      {
        title: 'DynamoDB units',
        left: Object.values(tableNames).flatMap((tableName) => [
          awsMetric.table('ConsumedWriteCapacityUnits', tableName),
          awsMetric.table('ConsumedReadCapacityUnits', tableName),
        ]),
      },
    ];
  }

  /**
   * Grants changes to items of some kinds in the meta table. This way, a defect in a function that serves requests
   * cannot change API keys, tenants or the manifest.
   *
   * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
   */
  grantMeta(grantee: IGrantable, kinds: readonly MetaKind[], ...actions: readonly string[]): void {
    Grant.addToPrincipal({
      grantee,
      actions: [...actions],
      resourceArns: [this.meta.tableArn],
      conditions: {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': kinds.flatMap((kind) => [kind, `${kind}#*`]) },
      },
    });
  }

  private addTable(id: string, deletionProtection: boolean): Table {
    const table = new Table(this, id, {
      partitionKey: { name: TABLE_KEYS.partition, type: AttributeType.STRING },
      sortKey: { name: TABLE_KEYS.sort, type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: TABLE_KEYS.ttl,
      deletionProtection,
    });
    pinLogicalId(table, id);
    return table;
  }
}
