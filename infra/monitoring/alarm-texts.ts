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
    meaning:
      'More than 1 % of requests get a 5xx. Agents keep their samples and send them again. Readers see errors.',
    action:
      'If `stream-throttled` or `loss-open` is on too, start there. Else run `logs post`, `logs query` and `logs registry`, and look for "request failed". If you see `AccessDenied`, a deploy lacks a right: [roll back](#upgrade-and-rollback). If you see `OOM`, see [Memory is full](#memory-is-full). If you see a time-out or a refused connection, the store that it names is down: wait for it, and look at the AWS Health Dashboard.',
    wake: 'Wake somebody when you have rolled back, no store is down, and more than 1 % still fail after half an hour. Agents resend for hours, so samples are safe.',
  },
  'api-latency': {
    meaning: 'One request in a hundred takes more than 5 s. Pages and dashboards are slow; nothing is lost.',
    action:
      'Look at "Time of functions" on the dashboard. If `query` is slow, ask a slow read again with `curl -i`: `Server-Timing` names the slow tier. If that is `hot`, raise `cacheShards`. If `post` is slow, see `stream-throttled`.',
    wake: 'Wake somebody in no case. Look at it in the morning.',
  },
  'post-url-errors': {
    meaning:
      'More than 1 % of the requests at the URL of post get a 5xx. Agents keep their samples and send them again.',
    action:
      'Do what `api-errors` says for `post`. If `logs post` shows nothing and `function-throttled` is on for `post`, raise `postConcurrency`.',
    wake: 'Wake somebody when `api-errors` would.',
  },
  'stream-throttled': {
    meaning: 'Clients post more than the shards take. They get 503 and send again, so samples come late.',
    action:
      'Run `npm run ops -- usage --tenant T --stack $STACK`. If one tenant sends too much, lower its limit: [Too many requests](#too-many-requests). Else deploy with twice the `streamShards`: [Scale out](#scale-out).',
    wake: 'Wake somebody only if `api-errors` goes off too and more shards do not end it.',
  },
  'stream-lag': {
    meaning: 'The ingester is more than 5 minutes behind the stream. New samples cannot be read yet.',
    action:
      'Run `logs ingester`. If you see errors, do what `records-failed` says. If there are none and `function-throttled` is on, do what that says. Else the load is too high: deploy with twice the `streamShards`, since each shard has its own ingester.',
    wake: 'Wake somebody when the lag still grows after you doubled the shards, or has half of `streamRetention`.',
  },
  'records-failed': {
    meaning:
      'A store refuses what the ingester appends. New samples cannot be read yet; the mapping tries the batches again.',
    action:
      'Run `logs ingester` and look for "the stream delivers records again". If you see `OOM`, run `npm run ops -- drain --stack $STACK`: [Memory is full](#memory-is-full). If you see a time-out or a refused connection, the cache is down or fails over: wait, ingestion goes on by itself. If you see `AccessDenied`, [roll back](#upgrade-and-rollback).',
    wake: 'Wake somebody when the cache is up and the log still has errors after an hour. The stream keeps the records for days.',
  },
  'gave-up': {
    meaning:
      'A store refused batches until they were older than `recordAge`. The bucket keeps them as dead letters; their samples cannot be read yet.',
    action:
      'Run `logs ingester 6h` and repair the store that it names, as `records-failed` says. Recovery ingests the batches again each 15 minutes. If you cannot wait, run `npm run ops -- quarantine redrive --dead-letters --stack $STACK`: [Quarantine and dead letters](#quarantine-and-dead-letters).',
    wake: 'Wake somebody when the store has been well for half an hour and `redrive-failures` goes off. The dead letters never expire.',
  },
  quarantine: {
    meaning:
      'The ingester could not decode records and put them into quarantine. Their samples are missing; the rest of the batch went on.',
    action:
      'Run `npm run ops -- quarantine list --stack $STACK`, then `quarantine show KEY`. If a newer release wrote it, upgrade and run `quarantine redrive`. Else it is a defect: keep the object, which expires after 90 days. [Quarantine and dead letters](#quarantine-and-dead-letters).',
    wake: 'Wake somebody in the morning: the maintainers of the code need the object. Wake them at night only if `quarantine list` grows by the minute.',
  },
  'function-errors': {
    meaning:
      'The function SUBJECT fails, or Lambda cuts it off at its timeout. Its work is delayed or refused.',
    action:
      'Run `logs SUBJECT`. If it began with a deploy, or you see `AccessDenied`, [roll back](#upgrade-and-rollback). If you see `OOM`, see [Memory is full](#memory-is-full). If you see `Throttling`, see `table-throttled`. If you see `Task timed out` or a refused connection, a store is slow or down: wait for it, see `cache-cpu`.',
    wake: 'Wake somebody when SUBJECT is `post`, `ingester` or `flusher` and a roll-back did not help. The others can wait until the morning.',
  },
  'function-throttled': {
    meaning: "Lambda refuses to run the function SUBJECT: its concurrency, or the account's, is used up.",
    action:
      'Run `aws lambda get-function-concurrency --function-name $STACK-SUBJECT`. If it shows a number, raise the setting `queryConcurrency`, `flusherConcurrency` or `postConcurrency`. If it shows nothing, the account is at its quota: do what `concurrency` says.',
    wake: 'Wake somebody when AWS must raise the quota of the account and `api-errors` is on too.',
  },
  concurrency: {
    meaning: "Functions claim 80 % of the account's concurrency. At 100 % Lambda refuses posts and reads.",
    action:
      'Look at the metric `ConcurrentExecutions` by function. If it is `query`, bound it with `queryConcurrency`. If it is a function of another application, bound that. Else ask AWS for a larger quota (L-B99A9384), then set `accountConcurrency`.',
    wake: 'Wake somebody when another application takes the concurrency and nobody of yours may bound it.',
  },
  'cache-memory': {
    meaning:
      'Memory stays above 85 %, although the flusher empties windows early from 70 % on. Full memory delays new samples; none is lost.',
    action:
      'Run `npm run ops -- drain --stack $STACK` until it ends. If it fails, do what `flush-failures` says. If memory fills again, raise `cacheShards` or `cacheNodeType`: [Memory is full](#memory-is-full).',
    wake: 'Wake somebody when a drain does not end and you may not deploy more shards.',
  },
  'cache-evictions': {
    meaning:
      'The cache evicted keys: acknowledged samples are gone from memory. Our parameter group never does that.',
    action:
      'Now: run `npx cdk deploy $STACK-stateful -c stage=STAGE`, which sets `maxmemory-policy` back to `noeviction`. Then run `npm run ops -- replay --stack $STACK`, which reads the samples from the stream again.',
    wake: 'Wake somebody at once, after the two commands: somebody changed the parameter group, and must find out who and why.',
  },
  'cache-cpu': {
    meaning: 'A node of the cache is busy for more than 80 % of the time. Posts and reads become slow.',
    action:
      'Look at "Requests, and those that failed" on the dashboard. If there are more than usual and they are reads, bound them with `queryConcurrency`. Else raise `cacheShards`: [Scale out](#scale-out).',
    wake: 'Wake somebody only if `api-errors` goes off too.',
  },
  'cache-replication-lag': {
    meaning: 'A replica is more than 10 s behind. After a failover now, those seconds must be replayed.',
    action:
      'Run `npm run ops -- status --stack $STACK`. If memory is being drained or much is read, wait for the end. If the alarm stays on, deploy with a larger `cacheNodeType`.',
    wake: 'Wake somebody in no case: this can wait until the morning.',
  },
  'flush-lag': {
    meaning:
      'Group-windows stay in memory 15 minutes beyond their time, or the flusher is silent. Memory fills; nothing is lost yet.',
    action:
      'Run `logs flusher`. If you see nothing, it does not run: see `function-throttled`. If you see "part of a partition stays due", do what `flush-failures` says. If it works but is too slow, run `npm run ops -- drain --stack $STACK`, then raise `flusherLanes`.',
    wake: 'Wake somebody when `unflushed-age` goes off too and a drain fails twice.',
  },
  'unflushed-age': {
    meaning:
      'A group-window has been in memory for a quarter of the time after which its key expires, by default in production 42 h of 168 h. If nothing is done, samples leave memory unsaved.',
    action:
      'Now: run `npm run ops -- drain --stack $STACK` until it ends. If it fails, run `logs flusher`: "part of a partition stays due" names the partition and the error. Do what `flush-failures` says about it.',
    wake: 'Wake somebody when a drain fails twice. Keys expire after `streamRetention`, so three quarters of it are left: `production` 126 h, `dev` 18 h.',
  },
  'flush-failures': {
    meaning:
      'The flusher fails to flush some group-windows. They stay due in memory, where they can be read.',
    action:
      'Run `logs flusher` and look for "part of a partition stays due". If you see `Throttling`, see `table-throttled`. If you see `AccessDenied`, [roll back](#upgrade-and-rollback). If you see "no frame of version", a newer release wrote it: upgrade again. If you see a time-out, a store is slow: wait, the next minute tries again.',
    wake: 'Wake somebody when the same partition fails for hours with an error that no line here names. Once `unflushed-age` goes off, wait no longer, and wake somebody when a drain fails twice.',
  },
  'archive-lag': {
    meaning:
      'A day is archived more than a day late, or the archiver is silent. The day can be read from the warm tier.',
    action:
      'Run `npm run ops -- archive --stack $STACK`, which archives everything warm now. If it fails, do what `archive-failures` says. If it works but is slow, give the tenant more partitions, which helps days that begin later: [The archive is late](#the-archive-is-late).',
    wake: 'Wake somebody in no case: the flusher renews warm items of open days.',
  },
  'archive-failures': {
    meaning: 'The archiver fails to archive some days. They stay open, and can be read from the warm tier.',
    action:
      'Run `logs archiver 3h` and look for "a partition-day stays open". If you see `Throttling` or `SlowDown`, wait: the next hour goes on. If the function ran out of memory, lower `archivePartBytes`. If you see `AccessDenied`, [roll back](#upgrade-and-rollback). See [The archive is late](#the-archive-is-late).',
    wake: 'Wake somebody in no case. Tell the maintainers of the code in the morning about an error that no line here names.',
  },
  'table-throttled': {
    meaning: 'DynamoDB refuses SUBJECT. Functions try them again, so reads or flushes are slow.',
    action:
      'Wait for 10 minutes: DynamoDB splits a hot partition by itself. If the alarm stays on, run `aws service-quotas list-service-quotas --service-code dynamodb` and ask AWS for a larger quota of the table or the account.',
    wake: 'Wake somebody when `api-errors` goes off too and lasts for half an hour.',
  },
  'rules-late': {
    meaning:
      'Rules are evaluated more than 3 minutes late, or not at all: alerts come late. Missed ticks of the last hour are evaluated later. All rules are suspended while tenants post less than a tenth of the usual samples.',
    action:
      'Run `logs evaluator`. If you see "were not evaluated", run `logs query`: a store is slow, or `query` has no concurrency left. If you see nothing, see `function-throttled` and `function-errors`. If there is no error, samples come late, and rules wait for them: see `stream-lag` and `loss-open`. If `ops status` shows no lag of the stream, clients do not post: see `api-errors` and `canary-stale`, and ask the tenants. Rules go on with the first posts; ticks in between are left out.',
    wake: 'Wake somebody when tenants rely on the alerts and you cannot mend it in a quarter of an hour: tell them that nobody watches.',
  },
  'alerts-undelivered': {
    meaning:
      "Somebody was not notified of an alert: a tenant's receiver refused it, twelve attempts failed, or it has waited for 15 minutes.",
    action:
      'Run `logs evaluator`, which names tenant and host. If one tenant is named, tell it: `GET /api/v1/alert-receivers/undelivered` with its key lists what was given up and why, for a week. If the host answered 4xx, its address or credentials are wrong. If all tenants are named, the function does not reach the internet. The evaluator retries waiting notifications for some hours, with growing waits.',
    wake: 'Wake somebody when all tenants are named: tell them. One tenant hears of it in the morning.',
  },
  'rules-failing': {
    meaning:
      'For 15 minutes, rules or whole groups failed. Their alerts stay as they were and their series have holes.',
    action:
      'Run `logs evaluator` and `logs query`, which name the groups that failed. `GET /prometheus/api/v1/rules?health=err` with the key of the tenant shows each rule with its error: if it is a limit or an expression, tell the tenant. If you see "a store did not answer", see `api-errors`.',
    wake: 'Wake somebody when rules of all tenants fail: tell them. One tenant hears of it in the morning.',
  },
  'canary-stale': {
    meaning:
      "A sample posted at the clients' address could not be read within 5 minutes, or the canary is silent. Users miss new samples too.",
    action:
      'Run `logs canary`. If you see "failed to post or to read" with a 5xx, see `api-errors`. If you see 401, wait a minute: it makes a new key. If you see no error, see `stream-lag` and `loss-open`. If you see nothing, see `function-throttled`.',
    wake: 'Wake somebody when nothing else is on and the canary still fails after half an hour.',
  },
  'canary-wrong': {
    meaning: 'A read returned a value that the canary did not send. Users may see wrong values.',
    action:
      'Stop deploying. Run `npm run ops -- where --stack $STACK --tenant canary --host heterotsdb-canary --name custom.canary`, which shows what each tier holds. If it began with a deploy, [roll back](#upgrade-and-rollback). Keep the output: it is a defect.',
    wake: 'Wake somebody at once: a maintainer of the code. Wrong values cannot wait for the morning.',
  },
  'canary-gaps': {
    meaning:
      'Samples of the canary are missing in the warm tier or the archive. Samples of users may be missing too.',
    action:
      'Run `logs canary`: "found no sample where it had posted some" has the tier and the range. If the stream still has that range (`streamRetention`), run `npm run ops -- replay --from TIME --stack $STACK` ([Replay](#replay)). Else `where` (see `canary-wrong`) shows what is left.',
    wake: 'Wake somebody when a replay does not bring the samples back.',
  },
  'redrive-failures': {
    meaning:
      'Recovery fails to ingest dead letters again. Their samples still cannot be read; the bucket keeps them.',
    action:
      'Run `npm run ops -- quarantine redrive --dead-letters --stack $STACK`, which says why. If a store is down, repair it as `records-failed` says. If records cannot be decoded, see `quarantine`: [Quarantine and dead letters](#quarantine-and-dead-letters).',
    wake: 'Wake somebody in no case. Tell a maintainer of the code in the morning: the bucket keeps the records.',
  },
  'loss-open': {
    meaning:
      'Memory was lost, and no replay has closed the loss for 15 minutes; or recovery is silent. Reads that may lack samples get 503.',
    action:
      'Run `npm run ops -- replay --status --stack $STACK`. If no replay runs, `logs recovery` says why. If one runs but does not end, run `logs replayer`: if you see `OOM`, drain. If the stream has forgotten the records, `replay --stop --abandon` gives them up. [Memory was lost](#memory-was-lost).',
    wake: 'Wake somebody when the replay does not end within an hour, and before `--abandon`, which gives samples up for good.',
  },
} as const satisfies Record<string, AlarmText>;

export type AlarmTextName = keyof typeof ALARM_TEXTS;

/** Most characters of an alarm description in CloudWatch. */
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
