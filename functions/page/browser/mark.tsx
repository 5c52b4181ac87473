/** The logo: three tiers. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 16 16" width="18" height="18" aria-hidden="true" focusable="false">
      <rect class="cold" x="1" y="10" width="4" height="5" rx="1" />
      <rect class="warm" x="6" y="6" width="4" height="9" rx="1" />
      <rect class="hot" x="11" y="1" width="4" height="14" rx="1" />
    </svg>
  );
}
