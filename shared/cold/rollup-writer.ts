import { crc32 } from 'node:zlib';
import type { Id } from '../model/id';
import { labelValue, METRIC_NAME } from '../model/labels';
import { packLayout } from '../model/packed-layout';
import type { GroupId } from '../model/placement';
import type { ByteRange } from './archive-format';
import {
  columnOf,
  encodeFooter,
  encodeOffsetIndex,
  encodeRowGroup,
  type PageLocation,
  ROLLUP_COLUMNS,
  VALUE_ENCODINGS,
  type WrittenColumn,
} from './parquet-footer';
import { type EncodedPage, encodeTimestamps, encodeValues, TextColumn } from './parquet-pages';
import { PARQUET_MAGIC, pack } from './parquet-trailer';
import { headerBytes, otherLabels, timestampBounds } from './parquet-writer';
import {
  eachColumn,
  encodeGroupDirectory,
  type ListedRollup,
  type MadeGroup,
  ROLLUP_MAGIC,
  ROLLUP_TRAILER_BYTES,
  type RolledPages,
} from './rollup-format';
import { EXTRA_VALUES, eachValue, type RolledColumn, type RolledValue } from './rollup-grains';

/** The writer adds whole groups to a row group, and ends the row group once it has at least this many rows. */
const ROW_GROUP_ROWS = 128 * 1024;

interface AddedGroup extends MadeGroup {
  readonly group: GroupId;
  readonly pages: readonly RolledPages[];
}

/** Writes a rollup object into memory. */
export class RollupWriter {
  private readonly parts: Uint8Array[] = [PARQUET_MAGIC];
  private readonly rowGroups: Uint8Array[] = [];
  private readonly listed: ListedRollup[] = [];
  private readonly layouts = new Map<Id, ByteRange>();
  private added: AddedGroup[] = [];
  private addedRows = 0;
  private rows = 0;
  private end = PARQUET_MAGIC.length;

  /** @param grainMs length of the grains: an hour or a day */
  constructor(private readonly grainMs: number) {}

  /** Approximate number of bytes written so far. */
  get byteLength(): number {
    return this.end;
  }

  /** Adds a group. Groups must be added in ascending order, each once, and must have at least one grain. */
  addGroup(group: GroupId, made: MadeGroup): void {
    const { series } = made;
    const pages = series.map(({ starts, values, extras }): RolledPages => {
      if (starts.length === 0) return {};
      const encoded: Partial<Record<RolledColumn, EncodedPage>> = eachValue((name) =>
        encodeValues(values[name]),
      );
      for (const name of EXTRA_VALUES) {
        const stored = extras[name];
        if (stored !== undefined) encoded[name] = encodeValues(stored);
      }
      return encoded;
    });
    this.added.push({ ...made, group, pages });
    this.addedRows += series.reduce((sum, { starts }) => sum + starts.length, 0);
    if (this.addedRows >= ROW_GROUP_ROWS) this.endRowGroup();
  }

  finish(): { readonly bytes: Buffer; readonly listed: readonly ListedRollup[] } {
    this.endRowGroup();
    const packed = pack(
      this.listed.map((each) => ({
        ...each,
        directory: Buffer.from(each.directory).toString('base64'),
        days: each.days.toString('base64'),
      })),
    );
    const index = this.append(packed);
    const trailer = Buffer.alloc(ROLLUP_TRAILER_BYTES);
    ROLLUP_MAGIC.copy(trailer);
    trailer.writeBigUInt64LE(BigInt(index.offset), 8);
    trailer.writeUInt32LE(index.length, 16);
    trailer.writeUInt32LE(crc32(packed), 20);
    const footer = encodeFooter(ROLLUP_COLUMNS, this.rows, this.rowGroups, {
      heterotsdb: JSON.stringify({ grainMs: this.grainMs, index }),
    });
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    for (const part of [trailer, footer, length, PARQUET_MAGIC]) this.append(part);
    return { bytes: Buffer.concat(this.parts), listed: this.listed };
  }

  private endRowGroup(): void {
    const { added } = this;
    if (added.length === 0) return;
    const firstPart = this.parts.length;
    const rows = this.addedRows;
    this.added = [];
    this.addedRows = 0;
    const offsets = new Map(added.map(({ group }) => [group, eachColumn(() => 0)]));
    const valueColumns = eachValue((name) => this.appendValues(name, rows, added, offsets));
    for (const name of EXTRA_VALUES) this.appendPages(name, added, offsets);

    const texts = { name: new TextColumn(), host: new TextColumn(), labels: new TextColumn() };
    const starts = new Float64Array(rows);
    const counts = new Float64Array(rows);
    let at = 0;
    for (const { layout, series } of added)
      for (const [i, rolled] of series.entries()) {
        const { length } = rolled.starts;
        const labels = layout.series[i]!;
        texts.name.add(labelValue(labels, METRIC_NAME) ?? '', length);
        texts.host.add(labelValue(labels, 'host') ?? '', length);
        texts.labels.add(otherLabels(labels), length);
        starts.set(rolled.starts, at);
        counts.set(rolled.counts, at);
        at += length;
      }
    const column = (pages: readonly EncodedPage[], bounds?: WrittenColumn['bounds']): WrittenColumn => {
      const { offset } = this.append(Buffer.concat(pages.map(({ bytes }) => bytes)));
      return { ...columnOf(offset, pages), ...(bounds && { bounds }) };
    };
    this.rowGroups.push(
      encodeRowGroup(ROLLUP_COLUMNS, rows, {
        name: column(texts.name.finish(), texts.name.bounds()),
        host: column(texts.host.finish(), texts.host.bounds()),
        labels: column(texts.labels.finish(), texts.labels.bounds()),
        timestamp: column([encodeTimestamps(starts, true)], timestampBounds(starts)),
        count: column([encodeTimestamps(counts, true)]),
        ...valueColumns,
      }),
    );
    this.rows += rows;
    for (const { group, layout, series, pages, days, deletions } of added) {
      const layoutRange = this.layouts.get(layout.id) ?? this.append(packLayout(layout.bytes).packed);
      this.layouts.set(layout.id, layoutRange);
      const directory = encodeGroupDirectory(series, pages, this.grainMs);
      this.listed.push({
        group,
        layout: layout.id,
        layoutRange,
        offsets: offsets.get(group)!,
        directory,
        days,
        deletions,
      });
    }
    // Copy the pages into one buffer. Otherwise, each page would keep alive the buffer that zlib allocated for it,
    // which is seven times the size of the page.
    this.parts.push(Buffer.concat(this.parts.splice(firstPart)));
  }

  /** Writes a column of the Parquet file. */
  private appendValues(
    name: RolledValue,
    rows: number,
    added: readonly AddedGroup[],
    offsets: ReadonlyMap<GroupId, Record<RolledColumn, number>>,
  ): WrittenColumn {
    const offset = this.end;
    const locations = this.appendPages(name, added, offsets);
    const length = this.end - offset;
    const offsetIndex = this.append(encodeOffsetIndex(locations));
    const uncompressedBytes = 8 * rows + headerBytes(locations);
    return { offset, length, encodings: VALUE_ENCODINGS, uncompressedBytes, offsetIndex };
  }

  /** Writes the pages of a column, ordered by group, and records in `offsets` where each group's pages begin. */
  private appendPages(
    name: RolledColumn,
    added: readonly AddedGroup[],
    offsets: ReadonlyMap<GroupId, Record<RolledColumn, number>>,
  ): PageLocation[] {
    const locations: PageLocation[] = [];
    let firstRow = 0;
    for (const { group, series, pages } of added) {
      offsets.get(group)![name] = this.end;
      for (const [i, page] of pages.entries()) {
        const own = page[name];
        if (own !== undefined) locations.push({ ...this.append(own.bytes), firstRow });
        firstRow += series[i]!.starts.length;
      }
    }
    return locations;
  }

  private append(bytes: Uint8Array): ByteRange {
    this.parts.push(bytes);
    const offset = this.end;
    this.end += bytes.length;
    return { offset, length: bytes.length };
  }
}
