import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Api } from '../api/api';
import { deleteObject, type ObjectKind, saveObject } from '../api/monitoring';
import { Breakable } from '../view/breakable';
import { ConfirmButton } from './confirm-button';
import { type Draft, type Field, NO_PROBLEMS, problemsOf } from './fields';
import { ObjectForm } from './object-form';

export interface ObjectEditorProps {
  readonly api: Api;
  readonly kind: ObjectKind;
  readonly title: string;
  /** The stored object without its id; for a new object, the fields that it begins with. */
  readonly object: Draft;
  /** Undefined for a new object. */
  readonly id: string | undefined;
  readonly fields: readonly Field[];
  readonly utc: boolean;
  /** Address of the list. */
  readonly listHref: string;
  readonly listTitle: string;
  readonly deleteQuestion: string;
  /** Called after the object was saved or deleted. */
  readonly onDone: () => void;
  /** Returns the content below the form, such as a preview of the edited object. */
  readonly children?: (draft: Draft) => ComponentChildren;
}

/** Edits, creates or deletes an object. */
export function ObjectEditor(props: ObjectEditorProps) {
  const { api, kind, title, object, id, fields, utc, listHref, listTitle, onDone } = props;
  const [draft, setDraft] = useState(object);
  const [problems, setProblems] = useState(NO_PROBLEMS);
  const [isSending, setSending] = useState(false);
  const save = async () => {
    setSending(true);
    setProblems(NO_PROBLEMS);
    try {
      await saveObject(api, kind, draft, id);
      onDone();
    } catch (error) {
      setProblems(problemsOf((error as Error).message, fields));
    }
    setSending(false);
  };
  return (
    <article class="editor">
      <p class="note">
        <a href={listHref}>{listTitle}</a>
      </p>
      <h2>
        <Breakable text={title} />
      </h2>
      <div class="card">
        <ObjectForm
          name={title}
          fields={fields}
          draft={draft}
          problems={problems}
          utc={utc}
          isSending={isSending}
          onDraft={setDraft}
          onSave={() => void save()}
          actions={
            id !== undefined && (
              <ConfirmButton
                label="Delete"
                question={props.deleteQuestion}
                onConfirm={async () => {
                  await deleteObject(api, kind, id);
                  onDone();
                }}
              />
            )
          }
        />
      </div>
      {props.children?.(draft)}
    </article>
  );
}

/** Returns the fields of a stored object without its id, which is not part of the object that is saved. */
export function withoutId({ id: _, ...object }: { readonly id: string }): Draft {
  return object;
}
