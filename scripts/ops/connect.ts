import { Argument, type Command } from 'commander';
import { type ApiKeyOptions, apiKeyOf, withApi } from './api-key';
import { apiUrlOf } from './api-url';
import { type CommonOptions, command, print } from './command';
import { OperatorError, stageOf } from './invoke';

type ConnectOptions = CommonOptions & ApiKeyOptions;

/** Output of `ops connect --json`. */
interface Configuration {
  readonly client: Client;
  readonly url: string;
  readonly key: string;
  /** Where the text belongs: a configuration file of the client, or `shell`. */
  readonly place: string;
  readonly text: string;
}

/** The clients. `textFor` receives a URL without a trailing slash, and a key. */
const CLIENTS = {
  telegraf: {
    place: 'telegraf.conf',
    textFor: (url: string, key: string) => `[[outputs.influxdb_v2]]
  urls = ["${url}"]
  token = "${key}"`,
  },
  agent: {
    place: 'mackerel-agent.conf',
    textFor: (url: string, key: string) => `apibase = "${url}"
apikey = "${key}"`,
  },
  prometheus: {
    place: 'prometheus.yml',
    textFor: (url: string, key: string) => `remote_write:
  - url: ${url}/prometheus/api/v1/write
    authorization:
      credentials: ${key}`,
  },
  otel: {
    place: 'shell',
    textFor: (url: string, key: string) => `export OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=${url}/v1/metrics
export OTEL_EXPORTER_OTLP_METRICS_HEADERS=x-api-key=${key}`,
  },
  curl: {
    place: 'shell',
    textFor: (url: string, key: string) => `# Posts a sample. The second line reads it, a second or two later.
curl -sS --fail-with-body '${url}/write' -H 'X-Api-Key: ${key}' -d 'connect,host=curl value=1'
curl -sS --fail-with-body '${url}/prometheus/api/v1/query?query=connect_value' -H 'X-Api-Key: ${key}'`,
  },
} as const;

type Client = keyof typeof CLIENTS;

/** `ops connect`. It makes no calls, so it works even while the stack is down. */
export function connectCommand(): Command {
  return withApi(command('connect', 'print the configuration that a client needs to use this stack'))
    .addArgument(
      new Argument(
        '<client>',
        'the client to configure; agent is mackerel-agent, otel an OpenTelemetry SDK',
      ).choices(Object.keys(CLIENTS)),
    )
    .action((client: Client, options: ConnectOptions) => {
      print(options, configurationFor(client, options), ({ place, text }) => `# ${place}\n${text}`);
    });
}

/** @throws {OperatorError} naming the option that is missing or wrong */
export function configurationFor(client: Client, options: ConnectOptions): Configuration {
  if (options.stack !== undefined) stageOf(options.stack);
  const { origin, href } = new URL(apiUrlOf(options));
  // The agent appends its own paths to scheme, host and port.
  if (href !== `${origin}/`)
    throw new OperatorError(`the address ${href} has more than scheme, host and port: give ${origin}`);
  const key = apiKeyOf(options);
  const { place, textFor } = CLIENTS[client];
  return { client, url: origin, key, place, text: textFor(origin, key) };
}
