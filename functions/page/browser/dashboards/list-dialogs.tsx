import { useId, useMemo, useState } from 'preact/hooks';
import type { Dashboard } from '../../../../shared/registry/dashboard';
import { MAX_NAME } from '../../../../shared/registry/dashboard-limits';
import {
  type ConvertedDashboard,
  convertGrafana,
  MAX_FILE,
} from '../../../../shared/registry/grafana/dashboard';
import type { Api } from '../api/api';
import { createDashboard, deleteDashboard } from '../api/dashboards';
import { counted } from '../view/format';
import { Dialog } from './dialog';
import { AreaField, FormButtons, TextField } from './fields';
import { attempt } from './widget-card';

interface ListDialogProps {
  readonly api: Api;
  readonly onClose: () => void;
}

/** Runs a form's request. Returns whether it is in progress, and the message if it failed. */
function useRequest() {
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = async (event: Event, request: () => Promise<void>) => {
    event.preventDefault();
    if (isSending) return;
    setProblem(undefined);
    setSending(true);
    await request().catch((error: Error) => setProblem(error.message));
    setSending(false);
  };
  return { isSending, problem, run };
}

/** A dialog that creates an empty dashboard. */
export function NewDashboard({
  api,
  onClose,
  onCreated,
}: ListDialogProps & { readonly onCreated: (dashboard: Dashboard) => void }) {
  const [title, setTitle] = useState('');
  const { isSending, problem, run } = useRequest();
  const create = async () =>
    onCreated(await createDashboard(api, { title: title.trim(), memo: '', widgets: [] }));
  return (
    <Dialog title="New dashboard" onClose={onClose}>
      <form onSubmit={(event) => run(event, create)}>
        <TextField label="Title" isRequired maxLength={MAX_NAME} value={title} onInput={setTitle} />
        <FormButtons
          submit="Create"
          isIncomplete={title.trim() === ''}
          isSending={isSending}
          problem={problem}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  );
}

/** A dialog that asks before it deletes a dashboard. */
export function DeleteDashboard({
  api,
  dashboard,
  onClose,
  onDeleted,
}: ListDialogProps & { readonly dashboard: Dashboard; readonly onDeleted: () => void }) {
  const { isSending, problem, run } = useRequest();
  const remove = async () => {
    await deleteDashboard(api, dashboard.id);
    onDeleted();
  };
  return (
    <Dialog title="Delete dashboard" onClose={onClose}>
      <form onSubmit={(event) => run(event, remove)}>
        <p>
          {dashboard.title} has {counted(dashboard.widgets?.length ?? 0, 'widget')}. Deleting it cannot be
          undone.
        </p>
        <FormButtons submit="Delete" isSending={isSending} problem={problem} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

/** A dialog that imports a Grafana dashboard. Before the import it lists what will be left out. */
export function ImportDashboard({
  api,
  onClose,
  onCreated,
}: ListDialogProps & { readonly onCreated: (dashboard: Dashboard) => void }) {
  const [pasted, setPasted] = useState('');
  const [file, setFile] = useState<{ readonly text?: string; readonly problem?: string }>({});
  const { isSending, problem, run } = useRequest();
  const fileId = useId();
  const text = pasted.trim() === '' ? (file.text ?? '') : pasted;
  const { value: converted, problem: invalid } = useMemo(
    () => (text === '' ? {} : attempt((): ConvertedDashboard => convertGrafana(text))),
    [text],
  );
  const message = problem ?? file.problem ?? (invalid === undefined ? undefined : sentence(invalid));
  const read = async (chosen: File | undefined) => {
    if (chosen === undefined) setFile({});
    else if (chosen.size > MAX_FILE) setFile({ problem: `The file has more than ${MAX_FILE} bytes.` });
    else setFile({ text: await chosen.text() });
  };
  const create = async () => {
    if (converted !== undefined) onCreated(await createDashboard(api, converted.dashboard));
  };
  return (
    <Dialog title="Import from Grafana" onClose={onClose}>
      <form onSubmit={(event) => run(event, create)}>
        <p class="field">
          <label for={fileId}>File of a dashboard, exported as JSON</label>
          <input
            id={fileId}
            type="file"
            accept=".json,application/json"
            onChange={(event) => read(event.currentTarget.files?.[0])}
          />
        </p>
        <AreaField label="Or its JSON" rows={5} maxLength={MAX_FILE} value={pasted} onInput={setPasted} />
        {converted !== undefined && <Outcome {...converted} />}
        <FormButtons
          submit="Import"
          isIncomplete={converted === undefined}
          isSending={isSending}
          problem={message}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  );
}

function sentence(message: string): string {
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`;
}

/** Maximum length of the list of panels and variables that the import leaves out. */
const MAX_ENTRIES = 200;

function Outcome({ dashboard, leftOut }: ConvertedDashboard) {
  const variables = dashboard.variables?.length ?? 0;
  return (
    <div role="status">
      <p>
        <strong>{dashboard.title}</strong>: {counted(dashboard.widgets?.length ?? 0, 'widget')}
        {variables > 0 && ` and ${counted(variables, 'variable')}`} will be imported.
      </p>
      {leftOut.length > 0 && (
        <>
          <p>Not imported as they are:</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard user can scroll the list */}
          <ul class="left-out" tabIndex={0} aria-label="Not imported as they are">
            {leftOut.slice(0, MAX_ENTRIES).map(({ title, reason }) => (
              <li key={`${title}\n${reason}`}>
                <strong>{title}</strong>: {reason}
              </li>
            ))}
            {leftOut.length > MAX_ENTRIES && <li>and {leftOut.length - MAX_ENTRIES} more</li>}
          </ul>
        </>
      )}
    </div>
  );
}
