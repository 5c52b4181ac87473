/** Replaces the page after an error that no component handles. */
export function Failure({ error }: { readonly error: unknown }) {
  return (
    <main class="failure">
      <h1>The page stopped</h1>
      <p>Reload it to continue. If it stops again, report this error with the version of your browser:</p>
      <pre>{String(error)}</pre>
      <button type="button" class="primary" onClick={() => location.reload()}>
        Reload
      </button>
    </main>
  );
}
