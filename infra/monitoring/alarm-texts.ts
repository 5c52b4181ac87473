import { stageName } from '../../shared/platform/names';
import type { Stage } from '../config';

/**
 * Texts of an alarm, in Markdown with links into infra/README.md. `$STACK` and `SUBJECT` are placeholders.
 */
interface AlarmText {
  /** What happened, and what users notice. */
  readonly meaning: string;
  /** The first command, and what to do depending on its output. */
  readonly action: string;
  /** When to wake somebody. */
  readonly wake: string;
}

/**
 * Texts of all alarms, in the order of the dashboard. A test compares them with the sections below "Alarms"
 * in infra/README.md. An alarm that exists per function or table has one text here.
 */
export const ALARM_TEXTS = {
  'api-errors': {
    meaning: 'More than 1 % of requests get a 5xx. Agents keep their samples and retry. Readers see errors.',
    action:
      'If `stream-throttled` or `loss-open` is also on, start there. Otherwise, run `logs post`, `logs query` and `logs registry`, and look for "request failed". If you see `AccessDenied`, a deploy lacks a right: [roll back](#upgrade-and-rollback). If you see `OOM`, see [Memory is full](#memory-is-full). If you see a time-out or a refused connection, the store in that line is down: wait for it, and look at the AWS Health Dashboard.',
    wake: 'Wake someone if you have rolled back, no store is down, and more than 1 % still fail after half an hour. Agents keep retrying for hours, so samples are safe.',
  },
  'api-latency': {
    meaning: 'One request in a hundred takes more than 5 s. Pages and dashboards are slow; nothing is lost.',
    action:
      'Look at the graph "Function duration" on the dashboard. If `query` is slow, repeat a slow read with `curl -i`: `Server-Timing` names the slow tier. If that is `hot`, raise `cacheShards`. If `post` is slow, see `stream-throttled`.',
    wake: 'Do not wake anyone. Look at it in the morning.',
  },
  'post-url-errors': {
    meaning:
      "More than 1 % of the requests to post's function URL get a 5xx. Agents keep their samples and retry.",
    action:
      'Do what `api-errors` says for `post`. If `logs post` shows nothing and `function-throttled` is on for `post`, raise `postConcurrency`.',
    wake: 'Wake someone in the same cases as for `api-errors`.',
  },
  'stream-throttled': {
    meaning: 'Clients post more than the shards can take. They get 503 and retry, so samples arrive late.',
    action:
      'Run `npm run ops -- usage --tenant T --stack $STACK`. If one tenant sends too much, lower its limit: [Too many requests](#too-many-requests). Otherwise, deploy with twice the `streamShards`: [Scale out](#scale-out).',
    wake: 'Wake someone only if `api-errors` also goes off and more shards do not help.',
  },
  'stream-lag': {
    meaning: 'The ingester is more than 5 minutes behind the stream. New samples cannot be read yet.',
    action:
      'Run `logs ingester`. If you see errors, do what `records-failed` says. If there are none and `function-throttled` is on, do what it says. Otherwise, the load is too high: deploy with twice the `streamShards`, because each shard has its own ingester.',
    wake: 'Wake someone if the lag keeps growing after you doubled the shards, or reaches half of `streamRetention`.',
  },
  'records-failed': {
    meaning:
      "A store refuses the ingester's writes. New samples cannot be read yet; the event source mapping retries the batches.",
    action:
      'Run `logs ingester` and look for "the stream delivers records again". If you see `OOM`, run `npm run ops -- drain --stack $STACK`: [Memory is full](#memory-is-full). If you see a time-out or a refused connection, the cache is down or failing over: wait; ingestion resumes by itself. If you see `AccessDenied`, [roll back](#upgrade-and-rollback).',
    wake: 'Wake someone if the cache is up and the log still has errors after an hour. The stream keeps the records for days.',
  },
  'gave-up': {
    meaning:
      'A store refused batches until they were older than `recordAge`. The bucket keeps them as dead letters; their samples cannot be read yet.',
    action:
      'Run `logs ingester 6h` and repair the store that it names, as `records-failed` says. Recovery tries to ingest the batches again every 15 minutes. If you cannot wait, run `npm run ops -- quarantine redrive --dead-letters --stack $STACK`: [Quarantine and dead letters](#quarantine-and-dead-letters).',
    wake: 'Wake someone if the store has been healthy for half an hour and `redrive-failures` goes off. Dead letters never expire.',
  },
  quarantine: {
    meaning:
      'The ingester could not decode some records and put them into quarantine. Their samples are missing; the rest of the batch was ingested.',
    action:
      'Run `npm run ops -- quarantine list --stack $STACK`, then `quarantine show KEY`. If a newer release wrote the record, upgrade and run `quarantine redrive`. Otherwise, it is a bug: save a copy of the object, which expires after 90 days. [Quarantine and dead letters](#quarantine-and-dead-letters).',
    wake: 'Wake someone only if `quarantine list` grows by the minute. Otherwise, give the object to the maintainers of the code in the morning.',
  },
  'function-errors': {
    meaning: 'The function SUBJECT fails or times out. Its work is delayed or refused.',
    action:
      'Run `logs SUBJECT`. For `archiver` and `operator`, which run once an hour, add `3h`. If it began with a deploy or you see `AccessDenied`, [roll back](#upgrade-and-rollback). If you see `OOM`, see [Memory is full](#memory-is-full). If you see `Throttling`, see `table-throttled`. If you see `Task timed out` or a refused connection, a store is slow or down: wait for it, and see `cache-cpu`.',
    wake: 'Wake someone if SUBJECT is `post`, `ingester` or `flusher` and rolling back did not help. Other functions can wait until the morning.',
  },
  'function-throttled': {
    meaning: "Lambda refuses to run the function SUBJECT: its concurrency, or the account's, is used up.",
    action:
      'Run `aws lambda get-function-concurrency --function-name $STACK-SUBJECT`. If it shows a number, raise the setting `queryConcurrency`, `flusherConcurrency` or `postConcurrency`. If it shows nothing, the account is at its quota: do what `concurrency` says.',
    wake: "Wake someone if AWS must raise the account's quota and `api-errors` is also on.",
  },
  concurrency: {
    meaning: "Functions use 80 % of the account's concurrency. At 100 %, Lambda refuses posts and reads.",
    action:
      "Look at the metric `ConcurrentExecutions` by function. If it is `query`, limit it with `queryConcurrency`. If another application's function uses it, limit that function. Otherwise, ask AWS for a larger quota (L-B99A9384), then set `accountConcurrency`.",
    wake: 'Wake someone if another application takes the concurrency and nobody on duty may limit it.',
  },
  'cache-memory': {
    meaning:
      'Memory stays above 85 %, although the flusher moves windows early once it exceeds 70 %. When memory is full, new samples are delayed; none is lost.',
    action:
      'Run `npm run ops -- drain --stack $STACK` and let it finish. If it fails, do what `flush-failures` says. If memory fills again, raise `cacheShards` or `cacheNodeType`: [Memory is full](#memory-is-full).',
    wake: 'Wake someone if a drain does not finish and you may not deploy more shards.',
  },
  'cache-evictions': {
    meaning:
      'The cache evicted keys: acknowledged samples are gone from memory. Our own parameter group never allows this.',
    action:
      'Immediately run `npx cdk deploy $STACK-stateful -c stage=STAGE`, which sets `maxmemory-policy` back to `noeviction`. Then run `npm run ops -- replay --stack $STACK`, which reads the samples from the stream again.',
    wake: 'Wake someone as soon as you have run the two commands, to find out who changed the parameter group and why.',
  },
  'cache-cpu': {
    meaning: 'A cache node uses more than 80 % of its CPU. Posts and reads become slow.',
    action:
      'Look at the graph "Requests and failed requests" on the dashboard. If there are more requests than usual and they are reads, limit them with `queryConcurrency`. Otherwise, raise `cacheShards`: [Scale out](#scale-out).',
    wake: 'Wake someone only if `api-errors` also goes off.',
  },
  'cache-replication-lag': {
    meaning:
      'A replica is more than 10 s behind. If its primary failed now, those seconds would have to be replayed.',
    action:
      'Run `npm run ops -- status --stack $STACK`. If a drain or heavy reading is under way, wait until it is over. If the alarm stays on, deploy with a larger `cacheNodeType`.',
    wake: 'Do not wake anyone: this can wait until the morning.',
  },
  'flush-lag': {
    meaning:
      'Group-windows are still in memory 15 minutes after they were due, or the flusher is silent. Memory fills up; nothing is lost yet.',
    action:
      'Run `logs flusher`. If you see nothing, the flusher does not run: see `function-throttled`. If you see "part of a partition stays due", do what `flush-failures` says. If it works but is too slow, run `npm run ops -- drain --stack $STACK`, then raise `flusherLanes`.',
    wake: 'Wake someone if `unflushed-age` also goes off and a drain fails twice.',
  },
  'unflushed-age': {
    meaning:
      'A group-window has been in memory for a quarter of the time until its key expires (42 h of 168 h by default in production). If nobody acts, its samples will expire before they are saved.',
    action:
      'Immediately run `npm run ops -- drain --stack $STACK` and let it finish. If it fails, run `logs flusher`: the line "part of a partition stays due" names the partition and the error. Do what `flush-failures` says about that error.',
    wake: 'Wake someone if a drain fails twice. Keys expire after `streamRetention`, so three quarters of it remain: 126 h in `production`, 18 h in `dev`.',
  },
  'flush-failures': {
    meaning:
      'The flusher cannot flush some group-windows. They stay in memory, where they can still be read.',
    action:
      'Run `logs flusher` and look for "part of a partition stays due". If you see `Throttling`, see `table-throttled`. If you see `AccessDenied`, [roll back](#upgrade-and-rollback). If you see "no frame of version", a newer release wrote it: upgrade again. If you see a time-out, a store is slow: wait; the flusher tries again every minute.',
    wake: 'Wake someone if the same partition fails for hours with an error that is not listed here. Once `unflushed-age` goes off, wait no longer than until a drain has failed twice.',
  },
  'archive-lag': {
    meaning:
      'The archiver is more than a day behind with some day, or is silent. The day can be read from the warm tier.',
    action:
      'Run `npm run ops -- archive --stack $STACK`, which archives everything in the warm tier now. If it fails, do what `archive-failures` says. If it works but is slow, give the tenant more partitions, which speeds up days that begin after the change: [The archive is late](#the-archive-is-late).',
    wake: 'Do not wake anyone: the flusher keeps warm items of open days from expiring.',
  },
  'archive-failures': {
    meaning: 'The archiver cannot archive some days. They stay open and can be read from the warm tier.',
    action:
      'Run `logs archiver 3h` and look for "a partition-day stays open". If you see `Throttling` or `SlowDown`, wait: the next hourly run continues. If the function ran out of memory, lower `archivePartBytes`. If you see `AccessDenied`, [roll back](#upgrade-and-rollback). See [The archive is late](#the-archive-is-late).',
    wake: 'Do not wake anyone. If the error is not listed here, tell the maintainers of the code in the morning.',
  },
  'table-throttled': {
    meaning: 'DynamoDB throttles requests to SUBJECT. Functions retry them, so reads or flushes are slow.',
    action:
      'Wait for 10 minutes: DynamoDB splits a hot partition by itself. If the alarm stays on, run `aws service-quotas list-service-quotas --service-code dynamodb` and ask AWS for a larger quota of the table or the account.',
    wake: 'Wake someone if `api-errors` also goes off and stays on for half an hour.',
  },
  'rules-late': {
    meaning:
      'Rules are evaluated more than 3 minutes late or not at all, so alerts come late. Ticks of the last hour are evaluated later. All rules are suspended while less than a tenth of the usual tenants post.',
    action:
      'Run `logs evaluator`. If you see "were not evaluated", run `logs query`: a store is slow, or `query` has no concurrency left. If you see nothing, see `function-throttled` and `function-errors`. If there is no error, samples arrive late and rules wait for them: see `stream-lag` and `loss-open`. If `ops status` shows no stream lag, clients are not posting: see `api-errors` and `canary-stale`, and ask the tenants. Rules resume with the first posts and skip the ticks in between.',
    wake: 'Wake someone if tenants rely on alerts and you cannot fix it in 15 minutes: tell them that nobody watches.',
  },
  'alerts-undelivered': {
    meaning:
      "A notification of an alert was given up: the tenant's receiver refused it, all attempts in five hours failed, it waited for 23 hours, 1,000 newer batches of its tenant were waiting, or it cannot be read. Or one has been waiting for 15 minutes.",
    action:
      'Run `logs evaluator`, which names the tenant and the host. If only one tenant is named, tell it. With its key, `GET /api/v1/alert-receivers/undelivered` lists the notifications that were given up in the last week, and why. If the host answered 4xx, its address or credentials are wrong. If all tenants are named, the function cannot reach the internet. The evaluator retries notifications for five hours, at least every ten minutes.',
    wake: 'Wake someone if all tenants are named, and tell the tenants. A single tenant can be told in the morning.',
  },
  'rules-failing': {
    meaning:
      'Rules or whole groups have been failing for 15 minutes. Their alerts stay as they were, and their series have gaps.',
    action:
      'Run `logs evaluator` and `logs query`, which name the groups that failed. `GET /prometheus/api/v1/rules?health=err` with the tenant\'s key shows each rule with its error: if the cause is a limit or an expression, tell the tenant. If you see "a store did not answer", see `api-errors`.',
    wake: 'Wake someone if the rules of all tenants fail, and tell the tenants. A single tenant can be told in the morning.',
  },
  'canary-stale': {
    meaning:
      'A sample that the canary posted through the public API could not be read within 5 minutes, or the canary is silent. Users do not see new samples either.',
    action:
      'Run `logs canary`. If you see "failed to post or to read" with a 5xx, see `api-errors`. If you see 401, wait a minute: the canary makes a new key. If you see no error, see `stream-lag` and `loss-open`. If you see nothing, see `function-throttled`.',
    wake: 'Wake someone if no other alarm is on and the canary still fails after half an hour.',
  },
  'canary-wrong': {
    meaning: 'A read returned a value that the canary did not send. Users may see wrong values.',
    action:
      'Stop deploying. Run `npm run ops -- where --stack $STACK --tenant canary --host heterotsdb-canary --name custom.canary`, which shows what each tier holds. If it began with a deploy, [roll back](#upgrade-and-rollback). Keep the output: this is a bug.',
    wake: 'Wake someone who maintains the code, at once. Wrong values cannot wait until the morning.',
  },
  'canary-gaps': {
    meaning:
      "Samples that the canary posted are missing from the warm tier or the archive. Users' samples may be missing too.",
    action:
      'Run `logs canary`: the line "found no sample where it had posted some" has the tier and the range. If the stream still has that range (`streamRetention`), run `npm run ops -- replay --from TIME --stack $STACK` ([Replay](#replay)). Otherwise, `where` (see `canary-wrong`) shows which samples remain.',
    wake: 'Wake someone if a replay does not bring the samples back.',
  },
  'redrive-failures': {
    meaning:
      'Recovery tried to ingest dead letters and failed, or its redrive is silent. Their samples still cannot be read; the bucket keeps them.',
    action:
      'Run `npm run ops -- quarantine redrive --dead-letters --stack $STACK`, which says why. If a store is down, repair it as `records-failed` says. If records cannot be decoded, see `quarantine`: [Quarantine and dead letters](#quarantine-and-dead-letters). If the command succeeds, run `logs recovery 1h`: the scheduled redrive fails or does not run. If you see `AccessDenied`, [roll back](#upgrade-and-rollback).',
    wake: 'Do not wake anyone. Tell a maintainer of the code in the morning: the bucket keeps the records.',
  },
  'loss-open': {
    meaning:
      'Memory lost samples 15 minutes ago and no replay has restored them yet, or recovery is silent. Reads that may lack samples get 503.',
    action:
      'Run `npm run ops -- replay --status --stack $STACK`. If no replay runs, `logs recovery` says why. If one has read all shards but does not end, the status names the redriven objects that could not be ingested. If a store refuses one 15 times, a minute apart, the loss is closed without it; the bucket keeps the object. If one runs but does not end, run `logs replayer`: if you see `OOM`, drain. If the stream no longer has the records, `replay --stop --abandon` gives them up. [Memory was lost](#memory-was-lost).',
    wake: 'Wake someone if the replay does not end within an hour, and before you use `--abandon`, which gives samples up for good.',
  },
} as const satisfies Record<string, AlarmText>;

export type AlarmTextName = keyof typeof ALARM_TEXTS;

/** Maximum length of an alarm description in CloudWatch, in characters. */
export const MAX_DESCRIPTION = 1024;

/**
 * Returns an alarm's description, which CloudWatch includes in its mail.
 *
 * @param subject replaces `SUBJECT` in the text
 */
export function alarmDescription(stage: Stage, name: AlarmTextName, subject = ''): string {
  const stack = stageName(stage);
  const { meaning, action, wake } = ALARM_TEXTS[name];
  const text = `${meaning} WHAT TO DO: ${action} ${wake}`
    .replaceAll('SUBJECT', subject)
    .replaceAll('stage=STAGE', `stage=${stage}`)
    .replaceAll('$STACK', stack)
    .replace(/\[([^\]]+)\]\(#[^)]+\)/g, '$1');
  const logs = text.includes('`logs ')
    ? ` "logs X" is: aws logs tail --since 30m $(aws lambda get-function-configuration --function-name ${stack}-X --query LoggingConfig.LogGroup --output text).`
    : '';
  return `${text}${logs} Runbooks: infra/README.md.`;
}
