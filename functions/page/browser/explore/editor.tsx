import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { PromQLExtension } from '@prometheus-io/codemirror-promql';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { type Api, PROMETHEUS_PATH } from '../api/api';

export interface EditorProps {
  readonly api: Api;
  readonly label: string;
  /** The expression that is shown in the graph or table. */
  readonly query: string;
  readonly onRun: (query: string) => void;
}

/** An editor for a PromQL expression, with completion. Enter runs it, Shift-Enter begins a new line. */
export function Editor({ api, label, query, onRun }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const run = useRef(onRun);
  run.current = onRun;

  useLayoutEffect(() => {
    const promql = new PromQLExtension().setComplete({
      remote: { apiPrefix: PROMETHEUS_PATH, fetchFn: api.fetchAsPrometheus, httpMethod: 'GET' },
    });
    // Use a shadow root. Outside one, CodeMirror would add <style> elements, which the page's Content-Security-Policy
    // forbids.
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: 'open' });
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: query,
        extensions: [
          history(),
          closeBrackets(),
          bracketMatching(),
          autocompletion(),
          THEME,
          syntaxHighlighting(HIGHLIGHTS),
          promql.asExtension(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          placeholder('sum by (host) (rate(requests_total[5m]))'),
          // Must come before the default key map, in which Enter begins a new line.
          Prec.high(keymap.of([{ key: 'Enter', run: ({ state }) => runs(state) }])),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
        ],
      }),
    });
    view.current = made;
    const runs = (state: EditorState) => {
      run.current(state.doc.toString().trim());
      return true;
    };
    return () => {
      made.destroy();
      promql.destroy();
    };
  }, [api]);

  useEffect(() => {
    const { current } = view;
    const text = current?.state.doc.toString();
    if (current !== undefined && text?.trim() !== query)
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: query } });
  }, [query]);

  return (
    <div class="query">
      <div class="editor" ref={place} />
      <button
        type="button"
        class="run"
        aria-label={`Run ${label}`}
        onClick={() => onRun(view.current!.state.doc.toString().trim())}
      >
        Run
      </button>
    </div>
  );
}

const THEME = EditorView.theme({
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { caretColor: 'var(--ink)', fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-tooltip': { borderColor: 'var(--border)', backgroundColor: 'var(--surface)', color: 'var(--ink)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionMatchedText': { fontWeight: '650', textDecoration: 'none' },
});

const HIGHLIGHTS = HighlightStyle.define([
  { tag: [tags.function(tags.variableName), tags.standard(tags.variableName)], color: 'var(--accent)' },
  { tag: [tags.labelName, tags.modifier, tags.operatorKeyword], color: 'var(--note)' },
  { tag: [tags.string, tags.number], color: 'var(--alert)' },
  { tag: tags.comment, color: 'var(--muted)' },
]);
