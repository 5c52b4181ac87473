/** The response of `GET /api/v1/status`; `openapi.json` says what each field means. Durations are in ms. */
export interface Status {
  readonly atMs: number;
  readonly stream: { readonly behindMs: number | null };
  readonly flush: {
    readonly windows: number;
    readonly oldestMs: number | null;
    readonly residencyMs: number;
    readonly behindMs: number;
  };
  readonly archive: {
    readonly days: number;
    readonly openDays: number;
    readonly behindMs: number;
    readonly samples: number;
    readonly bytes: number;
  } | null;
  /** Usage of the current month so far. */
  readonly usage: {
    readonly samples: number;
    readonly reads: number;
    readonly days: readonly { readonly day: string; readonly samples: number; readonly reads: number }[];
    readonly series: { readonly active: number; readonly stored: number };
    readonly bytes: { readonly hot: number | null; readonly warm: number; readonly cold: number | null };
    readonly dollars: number;
    readonly cost: readonly { readonly what: string; readonly because: string; readonly dollars: number }[];
  };
}
