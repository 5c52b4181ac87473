/** The response to an InfluxQL statement, in the form that InfluxDB 1 gives it. */
export interface StatementResponse {
  readonly status: 200 | 400;
  readonly body:
    | { readonly results: readonly { readonly statement_id: number }[] }
    | { readonly error: string };
}

/** `CREATE DATABASE name`, with or without quotes and options. */
const CREATE_DATABASE = /^\s*CREATE\s+DATABASE\s+("(?:[^"\\]|\\.)+"|\w+)(?:\s+WITH\s[^;]*)?\s*;?\s*$/i;

/**
 * Answers an InfluxQL statement. Only CREATE DATABASE is supported: clients of InfluxDB 1, including Telegraf, send it
 * before they write. A tenant has no databases, so the statement succeeds and does nothing.
 */
export function executeStatement(text: string | undefined): StatementResponse {
  if (!text) return { status: 400, body: { error: 'missing required parameter "q"' } };
  if (CREATE_DATABASE.test(text)) return { status: 200, body: { results: [{ statement_id: 0 }] } };
  return {
    status: 400,
    body: {
      error:
        'error parsing query: only CREATE DATABASE is supported; GET /api/v1/series/metrics reads samples',
    },
  };
}
