import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';

type Json = Record<string, unknown>;

/**
 * Checks answers against an OpenAPI document. The operation must list the status, and the JSON must match its schema.
 */
export class OpenApiChecker {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false });
  private readonly validators = new Map<string, ValidateFunction>();

  constructor(private readonly document: Json) {
    this.ajv.addSchema({ $id: 'openapi', ...document });
  }

  /** @returns the first flaw of an answer; undefined if it has none */
  flawOf(
    method: string,
    path: string,
    status: number,
    contentType: string | null,
    body: string,
  ): string | undefined {
    const pointer = ['paths', path, method.toLowerCase(), 'responses', String(status)];
    const response = this.at(pointer);
    if (response === undefined) return `status ${status} is not in the document`;
    if (status === 204) return body === '' ? undefined : 'a 204 has a body';
    if (this.at([...pointer, 'content', 'text/plain']) !== undefined)
      return contentType?.startsWith('text/plain;') ? undefined : `content-type ${contentType}`;
    if (this.at([...pointer, 'content', 'application/yaml']) !== undefined)
      return contentType === 'application/yaml' ? undefined : `content-type ${contentType}`;
    if (!contentType?.startsWith('application/json')) return `content-type ${contentType}`;
    let json: unknown;
    try {
      json = JSON.parse(body);
    } catch {
      return 'the body is not JSON';
    }
    const reference = response.$ref as string | undefined;
    const where = reference === undefined ? pointer : reference.slice(2).split('/');
    const media = [...where, 'content', 'application/json', 'schema'];
    if (this.at(media) === undefined) return undefined;
    const validate = this.validator(`openapi#/${media.map(escapePointer).join('/')}`);
    return validate(json) ? undefined : this.ajv.errorsText(validate.errors);
  }

  private at(pointer: readonly string[]): Json | undefined {
    return pointer.reduce<Json | undefined>((node, key) => node?.[key] as Json | undefined, this.document);
  }

  private validator(reference: string): ValidateFunction {
    let validate = this.validators.get(reference);
    if (validate === undefined) {
      validate = this.ajv.compile({ $ref: reference });
      this.validators.set(reference, validate);
    }
    return validate;
  }
}

function escapePointer(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}
