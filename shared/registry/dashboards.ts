import type { Id } from '../model/id';
import { isGivenId, randomId } from '../model/random-id';
import type { Table } from '../platform/table';
import type { Dashboard, DashboardSpec } from './dashboard';
import { Documents } from './documents';
import { RefusedError } from './refused';

/**
 * Maximum total size of a tenant's dashboards as JSON, in bytes. mkr pulls all of them in one response, which may not
 * exceed 4 MB uncompressed.
 */
const MAX_ALL_BYTES = 3_500_000;
/** Maximum size of one dashboard as JSON, in bytes. A DynamoDB item holds at most 400 KB. */
const MAX_BYTES = 300_000;
const MAX_DASHBOARDS = 500;

const LIST = 'list';

/** A dashboard's entry in the tenant's list of dashboards. */
interface Entry {
  readonly id: string;
  readonly urlPath: string;
  readonly bytes: number;
  /**
   * Time of the last change, as Unix time in seconds. It increases with each change, so it also serves as the version.
   */
  readonly updatedAt: number;
}

/** Another dashboard already has this URL path. */
export class TakenPathError extends Error {
  override readonly name = 'TakenPathError';

  constructor(urlPath: string) {
    super(`urlPath: another dashboard has the path ${JSON.stringify(urlPath)}`);
  }
}

/** The stored dashboard is not the version that a change expects, because another client changed it. */
export class ChangedMeanwhileError extends Error {
  override readonly name = 'ChangedMeanwhileError';

  constructor(id: string, expected: number, updatedAt: number) {
    super(
      `the dashboard ${id} has changed in the meantime: expected updatedAt ${expected}, found ${updatedAt}`,
    );
  }
}

/**
 * Stores tenants' dashboards: one document for each dashboard, and one that lists all dashboards of the tenant. The
 * list keeps URL paths unique and counts the total bytes.
 *
 * A dashboard is created, replaced and removed in one transaction with its entry in the list. So a crash never leaves a
 * path taken without a dashboard, and changes are applied one at a time.
 *
 *     key id, or `list` for the list
 */
export class Dashboards {
  private readonly dashboards: Documents<Dashboard>;
  private readonly lists: Documents<readonly Entry[]>;

  constructor(
    table: Table,
    private readonly now: () => number = Date.now,
  ) {
    this.dashboards = new Documents(table, 'dashboards');
    this.lists = new Documents(table, 'dashboards');
  }

  /**
   * Creates a dashboard.
   *
   * @throws {TakenPathError}
   * @throws {RefusedError} when the dashboard, or all dashboards together, would be too large
   */
  async create(tenantId: Id, spec: DashboardSpec): Promise<Dashboard> {
    let dashboard!: Dashboard;
    await this.lists.createOrChangeWith(tenantId, LIST, (listed = []) => {
      // The transaction fails if the id is taken, so each attempt draws a new one.
      const id = randomId();
      const createdAt = this.seconds();
      dashboard = { id, createdAt, updatedAt: createdAt, ...spec, urlPath: spec.urlPath ?? id };
      return {
        value: withEntry(listed, dashboard),
        also: [this.dashboards.creation(tenantId, id, dashboard)],
      };
    });
    return dashboard;
  }

  async get(tenantId: Id, id: string): Promise<Dashboard | undefined> {
    return isDashboardId(id) ? this.dashboards.get(tenantId, id) : undefined;
  }

  /** Returns all dashboards of a tenant, sorted by title. */
  async list(tenantId: Id): Promise<Dashboard[]> {
    const found: Dashboard[] = [];
    for await (const { key, value } of this.dashboards.list(tenantId)) if (key !== LIST) found.push(value);
    return found.sort((a, b) => (a.title < b.title ? -1 : a.title > b.title ? 1 : 0));
  }

  /**
   * Replaces a dashboard. If `spec` has no variables, the stored ones are kept, because Mackerel's clients do
   * not know about variables.
   *
   * @param expectedAt `updatedAt` of the version to replace. @default any version
   * @returns the new dashboard; undefined when the id is unknown
   * @throws as {@link create}, and {@link ChangedMeanwhileError}
   */
  async replace(
    tenantId: Id,
    id: string,
    spec: DashboardSpec,
    expectedAt?: number,
  ): Promise<Dashboard | undefined> {
    for (;;) {
      const stored = await this.get(tenantId, id);
      if (stored === undefined) return undefined;
      const variables = spec.variables === undefined ? stored.variables : spec.variables;
      let dashboard: Dashboard | undefined;
      let isStale = false;
      await this.lists.createOrChangeWith(tenantId, LIST, (listed = []) => {
        dashboard = undefined;
        const entry = listed.find((each) => each.id === id);
        if (entry === undefined) return undefined;
        const lastAt = entry.updatedAt;
        if (expectedAt !== undefined && expectedAt !== lastAt)
          throw new ChangedMeanwhileError(id, expectedAt, lastAt);
        // If another client has replaced the dashboard since it was read, read it again. Otherwise the variables and
        // the path that the other client stored would be lost.
        isStale = stored.updatedAt < lastAt;
        if (isStale) return undefined;
        const updatedAt = Math.max(this.seconds(), lastAt + 1);
        dashboard = { id, createdAt: stored.createdAt, updatedAt, ...spec };
        dashboard = {
          ...dashboard,
          urlPath: spec.urlPath ?? stored.urlPath,
          ...(variables && { variables }),
        };
        return {
          value: withEntry(listed, dashboard),
          also: [this.dashboards.replacement(tenantId, id, dashboard)],
        };
      });
      if (!isStale) return dashboard;
    }
  }

  /** Removes a dashboard. Returns it, or undefined when the id is unknown. */
  async remove(tenantId: Id, id: string): Promise<Dashboard | undefined> {
    if (!isDashboardId(id)) return undefined;
    const stored = await this.dashboards.get(tenantId, id);
    if (stored === undefined) return undefined;
    let isRemoved = false;
    await this.lists.createOrChangeWith(tenantId, LIST, (listed = []) => {
      const value = listed.filter((each) => each.id !== id);
      isRemoved = value.length < listed.length;
      return isRemoved ? { value, also: [this.dashboards.removal(tenantId, id)] } : undefined;
    });
    return isRemoved ? stored : undefined;
  }

  private seconds(): number {
    return Math.floor(this.now() / 1000);
  }
}

/**
 * Adds a dashboard's entry to the list, or replaces it.
 *
 * @throws {TakenPathError | RefusedError}
 */
function withEntry(listed: readonly Entry[], dashboard: Dashboard): readonly Entry[] {
  const entry: Entry = {
    id: dashboard.id,
    urlPath: dashboard.urlPath!,
    bytes: Buffer.byteLength(JSON.stringify(dashboard)),
    updatedAt: dashboard.updatedAt,
  };
  if (entry.bytes > MAX_BYTES)
    throw new RefusedError(
      `the dashboard has ${entry.bytes} bytes as JSON; at most ${MAX_BYTES} are allowed`,
      true,
    );
  const others = listed.filter(({ id }) => id !== entry.id);
  if (others.some(({ urlPath }) => urlPath === entry.urlPath)) throw new TakenPathError(entry.urlPath);
  if (others.length >= MAX_DASHBOARDS)
    throw new RefusedError(`there are ${MAX_DASHBOARDS} dashboards, the most allowed`);
  const bytes = others.reduce((sum, each) => sum + each.bytes, entry.bytes);
  if (bytes > MAX_ALL_BYTES)
    throw new RefusedError(
      `all dashboards together would have ${bytes} bytes as JSON; at most ${MAX_ALL_BYTES} are allowed`,
      true,
    );
  return [...others, entry];
}

function isDashboardId(id: string): boolean {
  return id !== LIST && isGivenId(id);
}
