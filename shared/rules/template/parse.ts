import type { Command, Node, Operand, ParsedTemplate, Pipeline } from './nodes';
import { type Piece, piecesOf, type TemplateToken } from './tokens';
import { TemplateError } from './values';

/** Maximum length of a template, in characters. */
const MAX_LENGTH = 64 * 1024;
/**
 * Maximum nesting depth of parentheses and blocks. It is bounded because the parser and the evaluator are recursive.
 */
const MAX_DEPTH = 100;

/**
 * Parses a template of Go's `text/template`.
 *
 * @param functions names of the functions that the template may call
 * @param variables predefined variables, without `$`
 * @throws {TemplateError} with the line of the error
 * @see https://pkg.go.dev/text/template
 */
export function parseTemplate(
  text: string,
  functions: ReadonlySet<string>,
  variables: readonly string[],
): ParsedTemplate {
  if (text.length > MAX_LENGTH)
    throw new TemplateError(`the template has ${text.length} characters; at most ${MAX_LENGTH} are allowed`);
  const parser = new TemplateParser(piecesOf(text), functions, ['', ...variables]);
  return parser.parseWhole();
}

/** What ended a list of nodes: an `end` or `else` action, or the end of the text. */
type Ending = 'end' | 'else' | 'text';

class TemplateParser {
  private readonly defined = new Map<string, readonly Node[]>();
  private at = 0;
  private depth = 0;
  private loops = 0;
  /** Tokens of the current action. */
  private tokens: readonly TemplateToken[] = [];
  private token = 0;
  private line = 1;

  constructor(
    private readonly pieces: readonly Piece[],
    private readonly functions: ReadonlySet<string>,
    private scope: string[],
  ) {}

  parseWhole(): ParsedTemplate {
    const { nodes, ending } = this.list(true);
    if (ending !== 'text') throw this.error(`unexpected {{${ending}}}`);
    return { nodes, defined: this.defined };
  }

  /** Reads nodes up to `{{end}}`, `{{else ...}}` or the end of the template. */
  private list(isTop = false): { nodes: Node[]; ending: Ending } {
    const nodes: Node[] = [];
    for (; this.at < this.pieces.length; ) {
      const piece = this.pieces[this.at++]!;
      if (piece.type === 'text') {
        nodes.push({ kind: 'text', text: piece.text });
        continue;
      }
      [this.tokens, this.token, this.line] = [piece.tokens, 0, piece.line];
      const word = this.peek().type === 'word' ? this.peek().text : '';
      if (word === 'end') {
        this.token++;
        this.expectEnd('end');
        return { nodes, ending: 'end' };
      }
      if (word === 'else') {
        this.token++;
        return { nodes, ending: 'else' };
      }
      const node = this.action(word, isTop);
      if (node !== undefined) nodes.push(node);
    }
    return { nodes, ending: 'text' };
  }

  private action(word: string, isTop: boolean): Node | undefined {
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        this.token++;
        return this.control(word);
      case 'break':
      case 'continue':
        this.token++;
        this.expectEnd(word);
        if (this.loops === 0) throw this.error(`{{${word}}} outside {{range}}`);
        return { kind: word };
      case 'define':
        this.token++;
        if (!isTop) throw this.error('unexpected {{define}}');
        this.define(this.name('define'));
        return undefined;
      case 'block': {
        this.token++;
        const name = this.name('block');
        const pipeline = this.pipeline('block');
        this.define(name);
        return { kind: 'template', name, pipeline };
      }
      case 'template': {
        this.token++;
        const name = this.name('template');
        this.skipSpace();
        const pipeline = this.peek().type === 'end' ? undefined : this.pipeline('template');
        return { kind: 'template', name, pipeline };
      }
      default:
        return { kind: 'print', pipeline: this.pipeline('command') };
    }
  }

  private control(kind: 'if' | 'with' | 'range'): Node {
    const outer = [...this.scope];
    if (++this.depth > MAX_DEPTH) throw this.error(`blocks are nested deeper than ${MAX_DEPTH}`);
    const pipeline = this.pipeline(kind);
    if (kind === 'range') this.loops++;
    const body = this.list();
    if (kind === 'range') this.loops--;
    let otherwise: readonly Node[] = [];
    if (body.ending === 'else') otherwise = this.parseElse(kind);
    else if (body.ending === 'text') throw this.error(`unexpected end of template in {{${kind}}}`);
    this.depth--;
    this.scope = outer;
    return { kind, pipeline, body: body.nodes, otherwise };
  }

  /** Parses the part after `{{else`: its nodes, or an `if` or `with` that shares the `{{end}}`. */
  private parseElse(kind: 'if' | 'with' | 'range'): readonly Node[] {
    this.skipSpace();
    const next = this.peek();
    if (next.type === 'word' && next.text === kind && kind !== 'range') {
      this.token++;
      return [this.control(kind)];
    }
    this.expectEnd('else');
    const { nodes, ending } = this.list();
    if (ending !== 'end') throw this.error(`expected {{end}} after {{else}}`);
    return nodes;
  }

  private define(name: string): void {
    this.expectEnd('define');
    const [outer, loops] = [this.scope, this.loops];
    [this.scope, this.loops] = [[''], 0];
    const { nodes, ending } = this.list();
    [this.scope, this.loops] = [outer, loops];
    if (ending !== 'end') throw this.error(`expected {{end}} after {{define ${JSON.stringify(name)}}}`);
    this.defined.set(name, nodes);
  }

  private name(context: string): string {
    this.skipSpace();
    const { type, value, text } = this.peek();
    if (type !== 'literal' || typeof value !== 'string')
      throw this.error(`expected a quoted name in {{${context}}}, found ${JSON.stringify(text)}`);
    this.token++;
    return value;
  }

  private pipeline(context: string): Pipeline {
    this.skipSpace();
    const { variables, declares } = this.declaration(context);
    const commands = [this.command(context)];
    while (this.accept('|')) commands.push(this.command(context));
    for (const [i, [first]] of commands.entries())
      if (i > 0 && first.of.kind === 'literal') throw this.error(`a literal cannot follow "|" in ${context}`);
    if (this.depthOfParens === 0) this.expectEnd(context);
    // A variable comes into scope only after the action that declares it.
    if (declares) this.scope.push(...variables);
    return { variables, declares, commands };
  }

  private depthOfParens = 0;

  private declaration(context: string): Pick<Pipeline, 'variables' | 'declares'> {
    const start = this.token;
    const variables: string[] = [];
    while (this.peek().type === 'variable' && this.peek().text !== '') {
      variables.push(this.peek().text);
      this.token++;
      this.skipSpace();
      const { type, text } = this.peek();
      if (type === 'symbol' && (text === ':=' || text === '=')) {
        if (variables.length > (context === 'range' ? 2 : 1))
          throw this.error(`too many declarations in ${context}`);
        this.token++;
        this.skipSpace();
        if (text === '=') for (const name of variables) this.requireVariable(name);
        return { variables, declares: text === ':=' };
      }
      if (!(context === 'range' && type === 'symbol' && text === ',')) break;
      this.token++;
      this.skipSpace();
    }
    this.token = start;
    return { variables: [], declares: false };
  }

  private command(context: string): Command {
    this.skipSpace();
    const operands: Operand[] = [];
    while (true) {
      const operand = this.operand();
      if (operand === undefined) break;
      operands.push(operand);
      if (this.peek().type !== 'space') break;
      this.skipSpace();
    }
    const [first, ...rest] = operands;
    if (first === undefined)
      throw this.error(`missing value for ${context}, found ${JSON.stringify(this.peek().text)}`);
    const { kind } = first.of;
    if (rest.length > 0 && first.fields.length === 0 && kind !== 'function')
      throw this.error(`a ${kind} is no function, and takes no arguments`);
    return [first, ...rest];
  }

  private operand(): Operand | undefined {
    const of = this.term();
    if (of === undefined) return undefined;
    const fields: string[] = [];
    // `.x` alone is a field of the dot.
    while (this.peek().type === 'field') {
      fields.push(this.peek().text);
      this.token++;
    }
    if (of.kind === 'literal' && fields.length > 0)
      throw this.error(`a literal has no field ${JSON.stringify(fields[0])}`);
    return { of, fields };
  }

  private term(): Operand['of'] | undefined {
    const token = this.peek();
    switch (token.type) {
      case 'field':
        return { kind: 'dot' };
      case 'literal':
        this.token++;
        return { kind: 'literal', value: token.value! };
      case 'variable':
        this.token++;
        this.requireVariable(token.text);
        return { kind: 'variable', name: token.text };
      case 'word':
        this.token++;
        if (!this.functions.has(token.text))
          throw this.error(`function ${JSON.stringify(token.text)} not defined`);
        return { kind: 'function', name: token.text };
      case 'symbol':
        if (token.text === '.') {
          this.token++;
          return { kind: 'dot' };
        }
        if (token.text === '(') return { kind: 'pipeline', pipeline: this.parenthesized() };
    }
    return undefined;
  }

  private parenthesized(): Pipeline {
    this.token++;
    if (++this.depth > MAX_DEPTH) throw this.error(`parentheses are nested deeper than ${MAX_DEPTH}`);
    this.depthOfParens++;
    const pipeline = this.pipeline('parenthesized pipeline');
    this.depthOfParens--;
    this.depth--;
    if (!this.accept(')')) throw this.error(`expected ")", found ${JSON.stringify(this.peek().text)}`);
    return pipeline;
  }

  private requireVariable(name: string): void {
    if (!this.scope.includes(name)) throw this.error(`undefined variable "$${name}"`);
  }

  private peek(): TemplateToken {
    return this.tokens[Math.min(this.token, this.tokens.length - 1)]!;
  }

  private accept(symbol: string): boolean {
    const start = this.token;
    this.skipSpace();
    const { type, text } = this.peek();
    if (type === 'symbol' && text === symbol) {
      this.token++;
      return true;
    }
    this.token = start;
    return false;
  }

  private skipSpace(): void {
    while (this.peek().type === 'space') this.token++;
  }

  private expectEnd(context: string): void {
    this.skipSpace();
    const { type, text } = this.peek();
    if (type !== 'end') throw this.error(`unexpected ${JSON.stringify(text)} in ${context}`);
  }

  private error(message: string): TemplateError {
    return new TemplateError(`${this.line}: ${message}`);
  }
}
