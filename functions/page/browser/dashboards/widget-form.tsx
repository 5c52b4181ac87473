import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Widget } from '../../../../shared/registry/dashboard';
import {
  COLUMNS,
  MAX_HEIGHT,
  MAX_MARKDOWN,
  MAX_ROW,
  MAX_TEXT,
} from '../../../../shared/registry/dashboard-limits';
import type { Api } from '../api/api';
import { type Lists, NO_LISTS } from '../frame/lists';
import { graphsOf } from '../graphs/graphs';
import { hostName } from '../side/host-text';
import { Choice } from '../view/choice';
import type { SourceRef } from '../view/view-state';
import { Dialog } from './dialog';
import { AreaField, CheckField, FormButtons, NumberField, TextField } from './fields';
import { fieldsOf, type Source, type WidgetFields, widgetWith } from './widget-fields';
import { hostsOfRole } from './widget-queries';

interface WidgetFormProps {
  readonly api: Api;
  readonly lists: Lists | undefined;
  readonly widget: Widget;
  readonly title: string;
  readonly onApply: (widget: Widget) => void;
  readonly onClose: () => void;
}

type Change = (changed: Partial<WidgetFields>) => void;

interface PartProps {
  readonly fields: WidgetFields;
  readonly change: Change;
}

/** A dialog that changes one widget. */
export function WidgetForm({ api, lists, widget, title, onApply, onClose }: WidgetFormProps) {
  const [before] = useState(() => fieldsOf(widget));
  const [fields, setFields] = useState(before);
  const change: Change = (changed) => setFields((old) => ({ ...old, ...changed }));
  const submit = (event: Event) => {
    event.preventDefault();
    onApply(widgetWith(widget, before, fields));
  };
  const { type } = fields;
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <Choice
          label="Widget"
          value={type}
          options={TYPES}
          onChoose={(value) =>
            change({
              type: value as Widget['type'],
              ...(value === 'value' && fields.source === 'role' ? { source: 'host' } : {}),
            })
          }
        />
        <TextField
          label="Title"
          value={fields.title}
          maxLength={MAX_TEXT}
          onInput={(text) => change({ title: text })}
        />
        {(type === 'graph' || type === 'value') && (
          <SourceFields api={api} lists={lists ?? NO_LISTS} fields={fields} change={change} />
        )}
        {type === 'graph' && <GraphFields fields={fields} change={change} />}
        {type === 'value' && <ValueFields fields={fields} change={change} />}
        {type === 'markdown' && (
          <AreaField
            label="Text"
            hint="Markdown. HTML is shown as text."
            rows={8}
            maxLength={MAX_MARKDOWN}
            value={fields.markdown}
            onInput={(markdown) => change({ markdown })}
          />
        )}
        {type === 'alertStatus' && <RoleField lists={lists ?? NO_LISTS} fields={fields} change={change} />}
        <PlaceFields fields={fields} change={change} />
        <FormButtons submit="Apply" onCancel={onClose} />
      </form>
    </Dialog>
  );
}

const TYPES = [
  ['graph', 'graph'],
  ['value', 'value'],
  ['markdown', 'text'],
  ['alertStatus', 'alert status'],
] as const;

const SOURCES: readonly (readonly [Source, string])[] = [
  ['host', 'a host'],
  ['role', 'the hosts of a role'],
  ['service', 'a service'],
  ['expression', 'an expression'],
  ['query', 'a PromQL query'],
];

function SourceFields({
  api,
  lists,
  fields,
  change,
}: PartProps & { readonly api: Api; readonly lists: Lists }) {
  const { source, type } = fields;
  const offered = SOURCES.filter(([each]) => type === 'graph' || each !== 'role');
  const names = useNames(api, lists, fields);
  return (
    <>
      <Choice
        label="Data of"
        value={source}
        options={source === 'unknown' ? [['unknown', 'something deleted'], ...offered] : offered}
        onChoose={(value) => change({ source: value as Source })}
      />
      {source === 'host' && (
        <Choice
          label="Host"
          value={fields.hostId}
          options={withPresent(
            fields.hostId,
            'choose a host',
            lists.hosts.map((host) => [host.id, hostName(host)]),
          )}
          onChoose={(hostId) => change({ hostId })}
        />
      )}
      {source === 'role' && <RoleField lists={lists} fields={fields} change={change} />}
      {source === 'service' && (
        <Choice
          label="Service"
          value={fields.serviceName}
          options={withPresent(
            fields.serviceName,
            'choose a service',
            lists.services.map((each) => [each, each]),
          )}
          onChoose={(serviceName) => change({ serviceName })}
        />
      )}
      {(source === 'host' || source === 'role' || source === 'service') && (
        <TextField
          label={type === 'graph' ? 'Metric or graph' : 'Metric'}
          isRequired
          suggestions={names}
          value={fields.name}
          onInput={(name) => change({ name })}
        />
      )}
      {source === 'expression' && (
        <AreaField
          label="Expression"
          hint="For example: avg(role(shop:web, loadavg5))"
          isRequired
          maxLength={MAX_TEXT}
          value={fields.expression}
          onInput={(expression) => change({ expression })}
        />
      )}
      {source === 'query' && (
        <>
          <AreaField
            label="PromQL"
            hint="Besides the dashboard's variables there are $__interval, $__rate_interval and $__range."
            isRequired
            maxLength={MAX_TEXT}
            value={fields.query}
            onInput={(query) => change({ query })}
          />
          <TextField
            label="Legend"
            hint="{{label}} stands for a label's value. Without a legend, labels name the lines."
            maxLength={MAX_TEXT}
            value={fields.legend}
            onInput={(legend) => change({ legend })}
          />
        </>
      )}
    </>
  );
}

/**
 * Returns options that always include the current value: a value that is not among them gets its own option.
 */
function withPresent(
  value: string,
  hint: string,
  options: readonly (readonly [string, string])[],
): readonly (readonly [string, string])[] {
  if (options.some(([each]) => each === value)) return options;
  return [[value, value === '' ? hint : value], ...options];
}

function RoleField({ lists, fields, change }: PartProps & { readonly lists: Lists }) {
  const roles = useMemo(() => {
    const found = lists.hosts.flatMap(({ roles: byService }) =>
      Object.entries(byService).flatMap(([service, names]) => names.map((name) => `${service}:${name}`)),
    );
    return [...new Set(found)].sort();
  }, [lists.hosts]);
  return (
    <TextField
      label="Role"
      hint="service:role"
      isRequired
      suggestions={roles}
      value={fields.roleFullname}
      onInput={(roleFullname) => change({ roleFullname })}
    />
  );
}

function GraphFields({ fields, change }: PartProps) {
  return (
    <>
      {fields.source === 'role' && (
        <CheckField
          label="Stack the lines"
          isChecked={fields.isStacked}
          onCheck={(isStacked) => change({ isStacked })}
        />
      )}
      {fields.source === 'query' && (
        <CheckField
          label="Show the latest values as a table"
          isChecked={fields.showsTable}
          onCheck={(showsTable) => change({ showsTable })}
        />
      )}
      <div class="side-by-side">
        <NumberField
          label="Line at"
          min={0}
          value={fields.lineValue}
          onInput={(lineValue) => change({ lineValue })}
        />
        <TextField
          label="Name of the line"
          maxLength={32}
          value={fields.lineLabel}
          onInput={(lineLabel) => change({ lineLabel })}
        />
      </div>
    </>
  );
}

function ValueFields({ fields, change }: PartProps) {
  return (
    <div class="side-by-side">
      <NumberField
        label="Decimals"
        min={0}
        max={16}
        step={1}
        value={fields.fractionSize}
        onInput={(fractionSize) => change({ fractionSize })}
      />
      <TextField label="Unit" value={fields.suffix} onInput={(suffix) => change({ suffix })} />
      <Choice
        label="Emphasise"
        value={fields.operator}
        options={[
          ['>', 'above'],
          ['<', 'below'],
        ]}
        onChoose={(operator) => change({ operator: operator as '>' | '<' })}
      />
      <NumberField label="Limit" value={fields.threshold} onInput={(threshold) => change({ threshold })} />
    </div>
  );
}

function PlaceFields({ fields, change }: PartProps) {
  return (
    <fieldset class="side-by-side">
      <legend class="note">Place in a grid of {COLUMNS} columns</legend>
      <NumberField
        label="Column"
        isRequired
        min={0}
        max={COLUMNS - 1}
        step={1}
        value={fields.x}
        onInput={(x) => change({ x })}
      />
      <NumberField
        label="Row"
        isRequired
        min={0}
        max={MAX_ROW}
        step={1}
        value={fields.y}
        onInput={(y) => change({ y })}
      />
      <NumberField
        label="Width"
        isRequired
        min={1}
        max={COLUMNS}
        step={1}
        value={fields.width}
        onInput={(width) => change({ width })}
      />
      <NumberField
        label="Height"
        isRequired
        min={1}
        max={MAX_HEIGHT}
        step={1}
        value={fields.height}
        onInput={(height) => change({ height })}
      />
    </fieldset>
  );
}

/**
 * Returns the names of the chosen source's metrics and graphs. For a role, these are the names of its first
 * host.
 */
function useNames(
  api: Api,
  lists: Lists,
  { type, source, hostId, serviceName, roleFullname }: WidgetFields,
): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([]);
  const id =
    source === 'host'
      ? hostId
      : source === 'service'
        ? serviceName
        : source === 'role'
          ? (hostsOfRole(lists.hosts, roleFullname)[0]?.id ?? '')
          : '';
  const kind = source === 'service' ? 'service' : 'host';
  useEffect(() => {
    let isOver = false;
    setNames([]);
    if (id === '') return;
    const of: SourceRef = { kind, id };
    api.metricNames(of).then(
      (found) => {
        if (isOver) return;
        const graphs = type === 'graph' && source !== 'role' ? graphsOf(of, found, lists.definitions) : [];
        setNames([...new Set([...graphs.map(({ name }) => name), ...found])].sort());
      },
      // Ignore the error, because the names are only suggestions.
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [api, kind, id, type, source]);
  return names;
}
