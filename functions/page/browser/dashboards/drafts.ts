import { useState } from 'preact/hooks';
import type { Dashboard, DashboardSpec } from '../../../../shared/registry/dashboard';

/** A dashboard that is being edited. */
export interface DashboardDraft {
  /** The version that the edit began with. */
  readonly base: Dashboard;
  /** The dashboard after each change, oldest first. */
  readonly steps: readonly Dashboard[];
}

/** Maximum number of changes that can be undone. */
const MAX_STEPS = 100;

export function draftOf(base: Dashboard): DashboardDraft {
  return { base, steps: [] };
}

export function present({ base, steps }: DashboardDraft): Dashboard {
  return steps.at(-1) ?? base;
}

export function withStep(draft: DashboardDraft, dashboard: Dashboard): DashboardDraft {
  return { ...draft, steps: [...draft.steps, dashboard].slice(-MAX_STEPS) };
}

export function undone(draft: DashboardDraft): DashboardDraft {
  return { ...draft, steps: draft.steps.slice(0, -1) };
}

/** Returns the part of a dashboard that is saved. */
export function specOf({ id: _, createdAt: _c, updatedAt: _u, ...spec }: Dashboard): DashboardSpec {
  return spec;
}

/** Drafts by dashboard. They outlive the view, so a user who opens another view loses no changes. */
const drafts = new Map<string, DashboardDraft>();

addEventListener('beforeunload', (event) => {
  if ([...drafts.values()].some(({ steps }) => steps.length > 0)) event.preventDefault();
});

export function openDraft(draft: DashboardDraft): void {
  drafts.set(draft.base.id, draft);
}

/**
 * Returns the draft of a dashboard, and a function that replaces it. Calling the function with undefined ends the edit.
 */
export function useDraft(
  id: string | undefined,
): [DashboardDraft | undefined, (draft: DashboardDraft | undefined) => void] {
  const [, setCount] = useState(0);
  const setDraft = (draft: DashboardDraft | undefined) => {
    if (id === undefined) return;
    if (draft === undefined) drafts.delete(id);
    else drafts.set(id, draft);
    setCount((count) => count + 1);
  };
  return [id === undefined ? undefined : drafts.get(id), setDraft];
}
