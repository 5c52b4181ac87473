import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(__dirname, '..', '..');
const programs = join(root, 'test', 'peers', 'programs');
const run = promisify(execFile);

/** A program of test/peers/programs, and the packages that it needs from the registry. */
export interface Peer {
  /** The program's file name, or its folder if it is in Go. */
  readonly program: string;
  /** Exact versions, such as `influxdb==5.3.2`. */
  readonly packages: readonly string[];
}

/**
 * Installs a peer's packages below .local/peers, once for each list of packages, and runs its program.
 *
 * @param env environment variables of the program, in addition to PATH and HOME
 * @returns the JSON that it prints
 * @throws with its output if it fails
 */
export async function runPeer(peer: Peer, env: Readonly<Record<string, string>>): Promise<unknown> {
  const [command, ...args] = commandOf(peer);
  // Do not pass on this machine's proxies and credentials, which are not part of a peer's settings.
  const { stdout } = await run(command!, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}

function commandOf({ program, packages }: Peer): string[] {
  if (program.endsWith('.py')) {
    const folder = installed(packages, (into) => {
      must('python3', ['-m', 'venv', into]);
      must(join(into, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...packages]);
    });
    // -P keeps Python from importing modules from the program's folder. Without it, influxdb.py would import itself.
    return [join(folder, 'bin', 'python'), '-P', join(programs, program)];
  }
  if (program.endsWith('.mjs')) {
    const folder = installed(packages, (into) => {
      must('npm', [
        'install',
        '--prefix',
        into,
        '--no-save',
        '--no-audit',
        '--no-fund',
        '--ignore-scripts',
        ...packages,
      ]);
    });
    // Copy the module, because it looks for packages in its own folder.
    cpSync(join(programs, program), join(folder, program));
    return [process.execPath, join(folder, program)];
  }
  const source = join(programs, program);
  const sum = createHash('sha256')
    .update(readFileSync(join(source, 'main.go')))
    .digest('hex');
  const folder = installed([...packages, sum], (into) => {
    cpSync(source, into, { recursive: true });
    buildGo(into, program, packages[0]!);
  });
  return [join(folder, program)];
}

/** Builds `program` in a folder. The program uses one Go module, and takes over the requirements of that module. */
function buildGo(folder: string, program: string, module: string): void {
  const { Dir: dir } = JSON.parse(must('go', ['mod', 'download', '-json', module])) as { Dir: string };
  const [path, version] = module.split('@');
  const requirements = readFileSync(join(dir, 'go.mod'), 'utf8').replace(/^module .*$/m, 'module peer');
  writeFileSync(join(folder, 'go.mod'), `${requirements}\nrequire ${path} ${version}\n`);
  writeFileSync(join(folder, 'go.sum'), readFileSync(join(dir, 'go.sum')));
  must('go', ['build', '-mod=mod', '-o', program, '.'], folder);
}

/**
 * Builds Prometheus' own binaries from their module, which takes minutes, unless they exist already. @returns their
 * folder
 */
export function prometheusBinaries(): string {
  return goPrograms(
    'github.com/prometheus/prometheus@v0.315.0',
    ['./cmd/prometheus', './cmd/promtool'],
    ['-tags', 'remove_all_sd'],
  );
}

/** Returns the binary that `ALERTMANAGER` names, or builds an Alertmanager from its module, without its page. */
export function alertmanagerBinary(): string {
  return (
    process.env.ALERTMANAGER ??
    join(
      goPrograms('github.com/prometheus/alertmanager@v0.34.0', ['./cmd/alertmanager'], [], (source) => {
        // Replace the page with an empty file: Alertmanager embeds the page, and npm would have to build it.
        mkdirSync(join(source, 'ui', 'app', 'dist'), { recursive: true });
        writeFileSync(join(source, 'ui', 'app', 'dist', 'index.html'), '');
      }),
      'alertmanager',
    )
  );
}

/** Returns the binary that `MIMIRTOOL` names, or builds mimirtool from its module. */
export function mimirtoolBinary(): string {
  const module = 'github.com/grafana/mimir@v1.3.1-0.20260423142704-aced80d74930';
  return process.env.MIMIRTOOL ?? join(goPrograms(module, ['./cmd/mimirtool']), 'mimirtool');
}

/** Returns the binary that `MKR` names, or builds Mackerel's command line from its module. */
export function mkrBinary(): string {
  return process.env.MKR ?? join(goPrograms('github.com/mackerelio/mkr@v0.65.0', ['.']), 'mkr');
}

/** Returns the binary that `MACKEREL_AGENT` names, or builds Mackerel's agent from its module. */
export function mackerelAgentBinary(): string {
  return (
    process.env.MACKEREL_AGENT ??
    join(goPrograms('github.com/mackerelio/mackerel-agent@v0.87.0', ['.']), 'mackerel-agent')
  );
}

/** Returns the binary that `TOFU` names, or builds OpenTofu from its module. */
export function tofuBinary(): string {
  return process.env.TOFU ?? join(goPrograms('github.com/opentofu/opentofu@v1.12.6', ['./cmd/tofu']), 'tofu');
}

const MACKEREL_PROVIDER = 'v0.9.1';

/**
 * Builds the acceptance tests of the Terraform provider for Mackerel, from the checkout that `MACKEREL_PROVIDER` names,
 * or from a clone.
 *
 * @returns the test program
 */
export function mackerelProviderTests(): string {
  const checkout = process.env.MACKEREL_PROVIDER;
  const folder = installed([checkout ?? `terraform-provider-mackerel@${MACKEREL_PROVIDER}`], (into) => {
    const source = join(into, 'source');
    if (checkout === undefined) {
      const repository = 'https://github.com/mackerelio-labs/terraform-provider-mackerel';
      must('git', ['clone', '--quiet', '--depth', '1', '--branch', MACKEREL_PROVIDER, repository, source]);
    } else cpSync(checkout, source, { recursive: true });
    // The provider takes the API's address from the environment. Its check that everything has been deleted must do so,
    // too.
    const test = join(source, 'internal', 'provider', 'provider_test.go');
    const client = 'return mackerel.NewClient(os.Getenv("MACKEREL_API_KEY"))';
    const addressed =
      'client, _ := mackerel.NewClientWithOptions(os.Getenv("MACKEREL_API_KEY"), os.Getenv("API_BASE"), false)\n\treturn client';
    writeFileSync(test, readFileSync(test, 'utf8').replace(client, addressed));
    must('go', ['test', '-c', '-o', join(into, 'acceptance'), './internal/provider'], source);
    rmSync(source, { recursive: true });
  });
  return join(folder, 'acceptance');
}

/**
 * Builds programs from a copy of their module, because `go install` refuses a module with replace directives.
 *
 * @returns the folder of the programs
 */
function goPrograms(
  module: string,
  packages: readonly string[],
  options: readonly string[] = [],
  prepare: (source: string) => void = () => {},
): string {
  return installed([module], (into) => {
    const { Dir: dir } = JSON.parse(must('go', ['mod', 'download', '-json', module])) as { Dir: string };
    const source = join(into, 'source');
    cpSync(dir, source, { recursive: true });
    must('chmod', ['-R', 'u+w', source]);
    rmSync(join(source, 'go.work'), { force: true });
    prepare(source);
    must('go', ['build', ...options, '-o', `${into}/`, ...packages], source);
    rmSync(source, { recursive: true });
  });
}

const COMPLIANCE = '67b8327';

/** Returns a checkout of prometheus/compliance: the one that `COMPLIANCE` names, or a clone. */
export function complianceSuite(): string {
  return (
    process.env.COMPLIANCE ??
    installed([`prometheus/compliance@${COMPLIANCE} source`], (into) => cloneCompliance(into))
  );
}

function cloneCompliance(into: string): void {
  must('git', ['clone', '--quiet', '--no-checkout', 'https://github.com/prometheus/compliance', into]);
  must('git', ['checkout', '--quiet', COMPLIANCE], into);
}

/**
 * Builds prometheus/compliance's test program for alert generators, from the checkout that `COMPLIANCE` names, or from
 * a clone.
 *
 * @returns the program, and the folder of its source with its rules
 */
export function alertGeneratorTester(): { readonly program: string; readonly source: string } {
  const checkout = process.env.COMPLIANCE;
  const folder = installed([checkout ?? `prometheus/compliance@${COMPLIANCE}`], (into) => {
    const source = join(into, 'source');
    if (checkout === undefined) cloneCompliance(source);
    else cpSync(checkout, source, { recursive: true });
    must(
      'go',
      ['build', '-o', join(into, 'tester'), './cmd/alert_generator_compliance_tester'],
      join(source, 'alert_generator'),
    );
  });
  return { program: join(folder, 'tester'), source: join(folder, 'source', 'alert_generator') };
}

/** Returns a folder that `install` has filled for these packages. */
function installed(packages: readonly string[], install: (into: string) => void): string {
  const id = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 16);
  const folder = join(root, '.local', 'peers', id);
  const stamp = join(folder, '.installed');
  if (existsSync(stamp)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  install(folder);
  writeFileSync(stamp, packages.join('\n'));
  return folder;
}

function must(command: string, args: readonly string[], cwd = root): string {
  const env = { ...process.env, GOFLAGS: '-buildvcs=false', GOWORK: 'off' };
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr.slice(-2000)}`);
  return stdout;
}
