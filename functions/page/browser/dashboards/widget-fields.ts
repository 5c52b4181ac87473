import type { Widget } from '../../../../shared/registry/dashboard';
import { within } from './arrangement';

export type Source = 'host' | 'role' | 'service' | 'expression' | 'query' | 'unknown';

/** The fields of a widget that a form shows. */
export interface WidgetFields {
  readonly type: Widget['type'];
  readonly title: string;
  /** Source of a graph or a value. */
  readonly source: Source;
  readonly hostId: string;
  readonly roleFullname: string;
  readonly serviceName: string;
  /** Name of a metric or a graph. */
  readonly name: string;
  readonly expression: string;
  readonly query: string;
  readonly legend: string;
  readonly isStacked: boolean;
  readonly showsTable: boolean;
  /** Value at which a line is drawn across the graph; empty for no line. */
  readonly lineValue: string;
  readonly lineLabel: string;
  readonly fractionSize: string;
  readonly suffix: string;
  readonly operator: '>' | '<';
  /** A value beyond this one is emphasised: above or below it, depending on `operator`. Empty for never. */
  readonly threshold: string;
  readonly markdown: string;
  readonly x: string;
  readonly y: string;
  readonly width: string;
  readonly height: string;
}

const EMPTY: WidgetFields = {
  type: 'graph',
  title: '',
  source: 'host',
  hostId: '',
  roleFullname: '',
  serviceName: '',
  name: '',
  expression: '',
  query: '',
  legend: '',
  isStacked: false,
  showsTable: false,
  lineValue: '',
  lineLabel: '',
  fractionSize: '2',
  suffix: '',
  operator: '>',
  threshold: '',
  markdown: '',
  x: '0',
  y: '0',
  width: '12',
  height: '8',
};

export function fieldsOf(widget: Widget): WidgetFields {
  const { x, y, width, height } = widget.layout;
  const place = { x: String(x), y: String(y), width: String(width), height: String(height) };
  const common = { ...EMPTY, ...place, type: widget.type, title: widget.title ?? '' };
  switch (widget.type) {
    case 'graph': {
      const { graph } = widget;
      const [line] = widget.referenceLines ?? [];
      return {
        ...common,
        ...sourceFields(graph),
        roleFullname: graph.type === 'role' ? graph.roleFullname : '',
        isStacked: graph.type === 'role' && graph.isStacked === true,
        showsTable: widget.showsTable === true,
        lineValue: line === undefined ? '' : String(line.value),
        lineLabel: line?.label ?? '',
      };
    }
    case 'value': {
      const [rule] = widget.formatRules ?? [];
      return {
        ...common,
        ...sourceFields(widget.metric),
        fractionSize: widget.fractionSize == null ? '' : String(widget.fractionSize),
        suffix: widget.suffix ?? '',
        operator: rule?.operator ?? '>',
        threshold: rule === undefined ? '' : String(rule.threshold),
      };
    }
    case 'markdown':
      return { ...common, markdown: widget.markdown ?? '' };
    case 'alertStatus':
      return { ...common, roleFullname: widget.roleFullname ?? '' };
  }
}

type SourceOf = Extract<Widget, { type: 'graph' }>['graph'];

function sourceFields(source: SourceOf): Partial<WidgetFields> {
  switch (source.type) {
    case 'host':
      return { source: 'host', hostId: source.hostId, name: source.name };
    case 'role':
      return { source: 'role', name: source.name };
    case 'service':
      return { source: 'service', serviceName: source.serviceName, name: source.name };
    case 'expression':
      return { source: 'expression', expression: source.expression };
    case 'query':
      return { source: 'query', query: source.query, legend: source.legend ?? '' };
    case 'unknown':
      return { source: 'unknown' };
  }
}

const SOURCE_FIELDS: Readonly<Record<Source, readonly (keyof WidgetFields)[]>> = {
  host: ['hostId', 'name'],
  role: ['roleFullname', 'name', 'isStacked'],
  service: ['serviceName', 'name'],
  expression: ['expression'],
  query: ['query', 'legend'],
  unknown: [],
};

/**
 * Returns a widget with the changes that were made in its form. Everything else is preserved: fields that the page does
 * not know, and null where a client has written null.
 *
 * @param before the fields that the form showed at first
 */
export function widgetWith(widget: Widget, before: WidgetFields, after: WidgetFields): Widget {
  const isChanged = (...names: readonly (keyof WidgetFields)[]) =>
    names.some((each) => before[each] !== after[each]);
  const changes: Record<string, unknown> = {};
  const change = (name: string, fields: readonly (keyof WidgetFields)[], value: () => unknown) => {
    if (isNew || isChanged(...fields)) changes[name] = value();
  };
  const isNew = before.type !== after.type;
  const kept = isNew ? { type: after.type, title: widget.title, layout: widget.layout } : widget;
  if (isChanged('title')) changes.title = after.title;
  if (isChanged('x', 'y', 'width', 'height')) {
    const [x, y, width, height] = [after.x, after.y, after.width, after.height].map(Number) as [
      number,
      number,
      number,
      number,
    ];
    changes.layout = { ...widget.layout, ...within({ x, y, width, height }) };
  }
  const source = (name: 'graph' | 'metric') => {
    const fields = SOURCE_FIELDS[after.source];
    if (!isNew && !isChanged('source', ...fields)) return;
    const old = isNew || isChanged('source') ? {} : (widget as unknown as Record<string, object>)[name];
    changes[name] = {
      ...old,
      type: after.source,
      ...Object.fromEntries(fields.map((each) => [each, after[each]])),
    };
  };
  switch (after.type) {
    case 'graph': {
      source('graph');
      if (isChanged('showsTable')) changes.showsTable = after.showsTable;
      if (isChanged('lineValue', 'lineLabel')) changes.referenceLines = lineOf(widget, after);
      break;
    }
    case 'value':
      source('metric');
      change('fractionSize', ['fractionSize'], () =>
        after.fractionSize === '' ? null : Number(after.fractionSize),
      );
      if (isChanged('suffix')) changes.suffix = after.suffix;
      if (isChanged('operator', 'threshold')) changes.formatRules = ruleOf(widget, after);
      break;
    case 'markdown':
      change('markdown', ['markdown'], () => after.markdown);
      break;
    case 'alertStatus':
      change('roleFullname', ['roleFullname'], () => after.roleFullname);
      break;
  }
  return { ...kept, ...changes } as Widget;
}

function lineOf(widget: Widget, { lineValue, lineLabel }: WidgetFields) {
  if (lineValue === '') return [];
  const [old] = widget.type === 'graph' ? (widget.referenceLines ?? []) : [];
  return [{ ...old, label: lineLabel.trim() || 'limit', value: Number(lineValue) }];
}

function ruleOf(widget: Widget, { operator, threshold }: WidgetFields) {
  if (threshold === '') return [];
  const [old] = widget.type === 'value' ? (widget.formatRules ?? []) : [];
  return [{ name: '', ...old, threshold: Number(threshold), operator }];
}

/** Returns a new widget of a type, to be completed in a form. */
export function newWidget(type: Widget['type'], layout: Widget['layout']): Widget {
  const common = { title: '', layout };
  switch (type) {
    case 'graph':
      return { type, ...common, graph: { type: 'host', hostId: '', name: '' } };
    case 'value':
      return { type, ...common, metric: { type: 'host', hostId: '', name: '' }, fractionSize: 2 };
    case 'markdown':
      return { type, ...common, markdown: '' };
    case 'alertStatus':
      return { type, ...common, roleFullname: '' };
  }
}
