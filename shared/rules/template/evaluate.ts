import { type FunctionContext, instanceOf, stringOf } from './arguments';
import { print } from './format';
import { TEMPLATE_FUNCTIONS } from './functions';
import type { Command, Node, Operand, ParsedTemplate, Pipeline } from './nodes';
import { GoDuration, GoTime } from './time';
import {
  AnyMap,
  isStringMap,
  isTrue,
  rangeOf,
  TemplateData,
  TemplateError,
  TemplateSample,
  type TemplateValue,
  typeName,
} from './values';

/** Maximum number of steps of one expansion. Each node and each call is a step. */
const MAX_STEPS = 100_000;
/** Maximum nesting depth of template calls. */
const MAX_CALLS = 100;
/** Maximum length of an expanded text, in characters. */
const MAX_OUTPUT = 64 * 1024;
/**
 * Maximum total length of the texts that functions take and return in one expansion, in characters. A map
 * counts as its length in text form. Without this limit, a few calls that each double a text or a map would use
 * up the memory.
 */
const MAX_TEXT = 8 * 1024 * 1024;

/** Thrown to leave a `range` loop. */
class LoopExit {
  constructor(readonly isBreak: boolean) {}
}

/** A variable and its value. Scopes are short, so they are lists searched from the end. */
interface Variable {
  readonly name: string;
  value: TemplateValue;
}

/**
 * Executes a template.
 *
 * @param data value of `.` and `$`
 * @param variables values of the variables declared when the template was parsed
 * @throws {TemplateError} when a call fails, a value has the wrong type, or the expansion exceeds a limit
 */
export async function executeTemplate(
  template: ParsedTemplate,
  data: TemplateValue,
  variables: readonly (readonly [name: string, value: TemplateValue])[],
  context: FunctionContext,
): Promise<string> {
  const execution = new Execution(template, context);
  const scope = [{ name: '', value: data }, ...variables.map(([name, value]) => ({ name, value }))];
  await execution.run(template.nodes, data, scope);
  return execution.output;
}

class Execution {
  output = '';
  private steps = 0;
  private text = 0;
  private calls = 0;

  constructor(
    private readonly template: ParsedTemplate,
    private readonly context: FunctionContext,
  ) {}

  async run(nodes: readonly Node[], dot: TemplateValue, scope: Variable[]): Promise<void> {
    const mark = scope.length;
    for (const node of nodes) await this.node(node, dot, scope);
    scope.length = mark;
  }

  private async node(node: Node, dot: TemplateValue, scope: Variable[]): Promise<void> {
    this.step();
    switch (node.kind) {
      case 'text':
        return this.write(node.text);
      case 'print': {
        const value = await this.pipeline(node.pipeline, dot, scope);
        if (node.pipeline.variables.length === 0) this.write(value === null ? '<no value>' : print(value));
        return;
      }
      case 'if':
      case 'with': {
        const mark = scope.length;
        const value = await this.pipeline(node.pipeline, dot, scope);
        const isWith = node.kind === 'with';
        if (isTrue(value)) await this.run(node.body, isWith ? value : dot, scope);
        else await this.run(node.otherwise, dot, scope);
        scope.length = mark;
        return;
      }
      case 'range':
        return this.range(node, dot, scope);
      case 'template': {
        const nodes = this.template.defined.get(node.name);
        if (nodes === undefined) throw new TemplateError(`template ${JSON.stringify(node.name)} not defined`);
        if (++this.calls > MAX_CALLS)
          throw new TemplateError(`templates call each other more than ${MAX_CALLS} times deep`);
        const value = node.pipeline === undefined ? null : await this.pipeline(node.pipeline, dot, scope);
        await this.run(nodes, value, [{ name: '', value }]);
        this.calls--;
        return;
      }
      case 'break':
      case 'continue':
        throw new LoopExit(node.kind === 'break');
    }
  }

  private async range(
    { pipeline, body, otherwise }: Extract<Node, { kind: 'if' | 'with' | 'range' }>,
    dot: TemplateValue,
    scope: Variable[],
  ): Promise<void> {
    const mark = scope.length;
    const value = await this.pipeline({ ...pipeline, variables: [] }, dot, scope);
    const pairs = rangeOf(value);
    for (const [key, element] of pairs) {
      this.step();
      const values = pipeline.variables.length === 2 ? [key, element] : [element];
      for (const [i, name] of pipeline.variables.entries())
        assign(scope, name, values[i]!, pipeline.declares);
      try {
        await this.run(body, element, scope);
      } catch (error) {
        if (!(error instanceof LoopExit)) throw error;
        if (error.isBreak) break;
      } finally {
        if (pipeline.declares) scope.length = mark;
      }
    }
    if (pairs.length === 0) await this.run(otherwise, dot, scope);
    scope.length = mark;
  }

  private async pipeline(
    { commands, variables, declares }: Pipeline,
    dot: TemplateValue,
    scope: Variable[],
  ): Promise<TemplateValue> {
    let value: TemplateValue = null;
    for (const [i, command] of commands.entries())
      value = await this.command(command, dot, scope, i === 0 ? [] : [value]);
    for (const name of variables) assign(scope, name, value, declares);
    return value;
  }

  private async command(
    [first, ...rest]: Command,
    dot: TemplateValue,
    scope: Variable[],
    piped: readonly TemplateValue[],
  ): Promise<TemplateValue> {
    this.step();
    const { of, fields } = first;
    if (of.kind === 'function' && fields.length === 0 && (of.name === 'and' || of.name === 'or'))
      return this.shortCircuit(of.name, rest, dot, scope, piped);
    const args: TemplateValue[] = [];
    for (const operand of rest) args.push(await this.operand(operand, dot, scope, []));
    return this.operand(first, dot, scope, [...args, ...piped]);
  }

  /** Evaluates the arguments of `and` or `or` up to the one that decides the result. */
  private async shortCircuit(
    name: 'and' | 'or',
    operands: readonly Operand[],
    dot: TemplateValue,
    scope: Variable[],
    piped: readonly TemplateValue[],
  ): Promise<TemplateValue> {
    let value: TemplateValue | undefined;
    for (const operand of operands) {
      value = await this.operand(operand, dot, scope, []);
      if (isTrue(value) === (name === 'or')) return value;
    }
    value = piped.length > 0 ? piped[0]! : value;
    if (value === undefined)
      throw new TemplateError(`wrong number of args for ${name}: want at least 1 got 0`);
    return value;
  }

  private async operand(
    { of, fields }: Operand,
    dot: TemplateValue,
    scope: Variable[],
    args: readonly TemplateValue[],
  ): Promise<TemplateValue> {
    const ownArgs = fields.length === 0 ? args : [];
    let value: TemplateValue;
    switch (of.kind) {
      case 'literal':
        value = of.value;
        break;
      case 'dot':
        value = dot;
        break;
      case 'variable':
        value = scope.findLast(({ name }) => name === of.name)!.value;
        break;
      case 'pipeline':
        value = await this.pipeline(of.pipeline, dot, scope);
        break;
      case 'function':
        value = await this.call(of.name, ownArgs);
        break;
    }
    if (of.kind !== 'function' && ownArgs.length > 0)
      throw new TemplateError(`can't give argument to non-function ${print(value)}`);
    for (const [i, field] of fields.entries())
      value = fieldOf(value, field, i === fields.length - 1 ? args : []);
    return value;
  }

  private async call(name: string, args: readonly TemplateValue[]): Promise<TemplateValue> {
    this.step();
    this.count(args);
    try {
      const result = await TEMPLATE_FUNCTIONS.get(name)!(args, this.context);
      this.count([result]);
      return result;
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new TemplateError(`error calling ${name}: ${error.message}`, { cause: error });
    }
  }

  private step(): void {
    if (++this.steps > MAX_STEPS) throw new TemplateError(`the template takes more than ${MAX_STEPS} steps`);
  }

  private count(values: readonly TemplateValue[]): void {
    for (const value of values)
      if (typeof value === 'string') this.text += value.length;
      else if (value instanceof AnyMap) this.text += value.textLength;
    if (this.text > MAX_TEXT)
      throw new TemplateError(`the template's functions handle more than ${MAX_TEXT} characters`);
  }

  private write(text: string): void {
    this.output += text;
    if (this.output.length > MAX_OUTPUT)
      throw new TemplateError(`the text has more than ${MAX_OUTPUT} characters`);
  }
}

function assign(scope: Variable[], name: string, value: TemplateValue, declares: boolean): void {
  if (declares) scope.push({ name, value });
  else scope.findLast((variable) => variable.name === name)!.value = value;
}

/** Returns a value's field, or calls its method. */
function fieldOf(value: TemplateValue, field: string, args: readonly TemplateValue[]): TemplateValue {
  if (value instanceof GoTime || value instanceof GoDuration) return methodOf(value, field, args);
  if (args.length > 0) throw new TemplateError(`${field} is not a method but has arguments`);
  if (isStringMap(value)) return value.get(field) ?? '';
  if (value instanceof AnyMap) return value.entries.get(field) ?? null;
  if (value instanceof TemplateData && value.fields.has(field)) return value.fields.get(field)!;
  if (value instanceof TemplateSample && field === 'Labels') return value.labels;
  if (value instanceof TemplateSample && field === 'Value') return value.value;
  if (value === null) throw new TemplateError(`nil pointer evaluating interface {}.${field}`);
  throw new TemplateError(`can't evaluate field ${field} in type ${typeName(value)}`);
}

/** Calls a method of a time or duration. */
function methodOf(value: GoTime | GoDuration, name: string, args: readonly TemplateValue[]): TemplateValue {
  const method = value instanceof GoTime ? TIME_METHODS.get(name) : DURATION_METHODS.get(name);
  if (method === undefined)
    throw new TemplateError(`can't evaluate field ${name} in type ${typeName(value)}`);
  const wanted = method.length - 1;
  if (args.length !== wanted)
    throw new TemplateError(`wrong number of args for ${name}: want ${wanted} got ${args.length}`);
  return (method as (...all: TemplateValue[]) => TemplateValue)(value, ...args);
}

type Methods<T> = ReadonlyMap<string, (value: T, argument: TemplateValue) => TemplateValue>;

const TIME_METHODS: Methods<GoTime> = new Map<
  string,
  (time: GoTime, argument: TemplateValue) => TemplateValue
>([
  ['Format', (time, layout) => time.format(stringOf(layout))],
  [
    'Add',
    (time, length) =>
      new GoTime(time.nanoseconds + instanceOf(GoDuration, 'time.Duration', length).nanoseconds),
  ],
  [
    'Sub',
    (time, other) => new GoDuration(time.nanoseconds - instanceOf(GoTime, 'time.Time', other).nanoseconds),
  ],
  ['String', (time) => time.toString()],
  ['UTC', (time) => time],
  ['Unix', (time) => time.floor(1_000_000_000n)],
  ['UnixMilli', (time) => time.floor(1_000_000n)],
  ['UnixMicro', (time) => time.floor(1000n)],
  ['UnixNano', (time) => time.nanoseconds],
  ['Year', (time) => BigInt(time.date.getUTCFullYear())],
  ['Month', (time) => time.format('January')],
  ['Day', (time) => BigInt(time.date.getUTCDate())],
  ['Hour', (time) => BigInt(time.date.getUTCHours())],
  ['Minute', (time) => BigInt(time.date.getUTCMinutes())],
  ['Second', (time) => BigInt(time.date.getUTCSeconds())],
  ['Weekday', (time) => time.format('Monday')],
]);

const DURATION_METHODS: Methods<GoDuration> = new Map<string, (duration: GoDuration) => TemplateValue>([
  ['String', (duration) => duration.toString()],
  ['Hours', (duration) => duration.seconds / 3600],
  ['Minutes', (duration) => duration.seconds / 60],
  ['Seconds', (duration) => duration.seconds],
  ['Milliseconds', (duration) => duration.nanoseconds / 1_000_000n],
]);
