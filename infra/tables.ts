import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { TABLE_KEYS } from '../shared/platform/names';
import { pinLogicalId } from './logical-id';

export interface TablesProps {
  /**
   * Whether DynamoDB refuses to delete the tables, whoever asks.
   * @default true
   */
  readonly deletionProtection?: boolean;
}

/** Actions on items by what a function does with them: exactly the calls that the code makes. */
export const ITEM_ACTIONS = {
  read: ['dynamodb:GetItem', 'dynamodb:Query'],
  count: ['dynamodb:UpdateItem'],
  write: ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
  insert: ['dynamodb:PartiQLInsert'],
  delete: ['dynamodb:DeleteItem'],
  scan: ['dynamodb:Scan'],
} as const;

/**
 * The warm tier's chunks, and everything else: keys, tenants, hosts, services, layouts, placement, manifest.
 *
 * On demand, because load follows flushes rather than the clock. Encrypted with the key that DynamoDB owns,
 * which costs nothing; one of our own would be a call to KMS for every table and caller.
 */
export class Tables extends Construct {
  readonly warm: Table;
  readonly meta: Table;

  constructor(scope: Construct, id: string, props: TablesProps = {}) {
    super(scope, id);
    const deletionProtection = props.deletionProtection ?? true;
    this.warm = this.addTable('WarmTable', deletionProtection);
    this.meta = this.addTable('MetaTable', deletionProtection);
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
