import { APPEND_SCRIPT } from './append-script';
import type { HotClient } from './connection';
import { LEASE_SCRIPT } from './lease-script';
import { MARK_SCRIPT, READ_MARK_SCRIPT, TAKE_OVER_SCRIPT } from './mark-script';
import { READ_SCRIPT } from './read-script';
import { SURVEY_SCRIPT } from './survey-script';
import { TRIM_SCRIPT } from './trim-script';

/**
 * The reply of the read script. It begins with 1 if the mark is good, else 0, followed by the mark's `loss`, `left` and
 * id. For each group, the starts of its windows follow, and then four values for each requested window
 * (read-script.ts).
 */
export type GroupsReply = [
  number,
  Buffer | null,
  Buffer | null,
  Buffer | null,
  ...(Buffer[] | Buffer | number | null)[],
];

type MarkField = string | null;
/** The reply of the script that reads a mark (mark-script.ts); null for an absent field. */
export type MarkReply = [MarkField, MarkField, MarkField, MarkField, MarkField, MarkField, string, string];

/**
 * The Lua scripts as commands of the client. The comment above each script, in `*-script.ts`, lists its KEYS,
 * ARGV, results and failures.
 */
interface Scripts {
  appendFrames(keys: number, ...args: (string | number | Buffer)[]): Promise<number[]>;
  leaseDue(keys: number, ...args: (string | number)[]): Promise<string[]>;
  trimMoved(keys: number, ...args: (string | number)[]): Promise<number>;
  takeOverMark(keys: number, ...args: string[]): Promise<number>;
  markPartition(keys: number, ...args: string[]): Promise<number>;
  surveyPartitions(keys: number, ...args: (string | number)[]): Promise<string>;
  readMark(keys: number, ...args: string[]): Promise<MarkReply>;
  readGroupsBuffer(keys: number, ...args: (string | number)[]): Promise<GroupsReply>;
}

/** A client with the commands of {@link defineScripts}. */
export type ScriptedClient = HotClient & Scripts;

export function defineScripts(client: HotClient): ScriptedClient {
  client.defineCommand('appendFrames', { lua: APPEND_SCRIPT });
  client.defineCommand('leaseDue', { lua: LEASE_SCRIPT });
  client.defineCommand('trimMoved', { lua: TRIM_SCRIPT });
  client.defineCommand('markPartition', { lua: MARK_SCRIPT });
  client.defineCommand('takeOverMark', { lua: TAKE_OVER_SCRIPT });
  client.defineCommand('readMark', { lua: READ_MARK_SCRIPT });
  client.defineCommand('readGroups', { lua: READ_SCRIPT });
  client.defineCommand('surveyPartitions', { lua: SURVEY_SCRIPT });
  return client as ScriptedClient;
}

/** Parses a number in a script's reply; undefined for null and the empty string. */
export function replyNumber(value: string | null | undefined): number | undefined {
  return value === null || value === undefined || value === '' ? undefined : Number(value);
}
