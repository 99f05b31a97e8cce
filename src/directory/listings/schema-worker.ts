import { parentPort } from 'node:worker_threads'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'

/** A question to the worker, one at a time. */
export interface SchemaQuestion {
  schema: Record<string, unknown>
  value: unknown
}

/** `schema` when the schema does not compile, `value` when the value does not satisfy it. */
export type SchemaAnswer = { ok: true } | { ok: false; fault: 'schema' | 'value'; message: string }

/** Parts of a message come from a stranger. */
const MAX_MESSAGE_CHARS = 200
const WARMING_SCHEMAS = 20

const ajv = new Ajv2020({
  // Unknown keywords and formats have no meaning, as the standard says.
  strict: false,
  validateFormats: false,
  // Copying a referenced schema into each place of its use would turn a short schema into endless code.
  inlineRefs: false,
  // A parameter may be called `toString`.
  ownProperties: true,
  // Each schema is used once, and optimizing its code takes longer than running it.
  code: { optimize: false },
  logger: false,
})

warmUp()
parentPort?.on('message', (question: SchemaQuestion) => {
  parentPort?.postMessage(answer(question))
})

function answer({ schema, value }: SchemaQuestion): SchemaAnswer {
  try {
    const validate = ajv.compile(schema)
    if (validate(value) === true) return { ok: true }
    return { ok: false, fault: 'value', message: describe(validate.errors?.[0]) }
  } catch (error) {
    return { ok: false, fault: 'schema', message: explain(error).slice(0, MAX_MESSAGE_CHARS) }
  } finally {
    ajv.removeSchema(schema)
  }
}

/** Compiles some schemas: the first ones of a thread take ten times as long, until ajv itself is compiled. */
function warmUp(): void {
  for (let i = 0; i < WARMING_SCHEMAS; i++) {
    const properties = {
      [`city${i}`]: { type: 'string', minLength: 1, enum: ['Lisbon', `Porto ${i}`] },
      days: { type: 'integer', minimum: 1, maximum: i + 1 },
      tags: { type: 'array', items: { type: 'string' }, maxItems: 3 },
    }
    const schema = { type: 'object', properties, required: [`city${i}`], description: 'A place.' }
    answer({ schema, value: { [`city${i}`]: 'Lisbon', days: 1, tags: ['a'] } })
  }
}

function explain(error: unknown): string {
  // Nothing else exhausts the stack, because questions are not deep.
  if (error instanceof RangeError) return 'its references lead round in a circle'
  return error instanceof Error ? error.message : 'it cannot be compiled'
}

function describe(error: ErrorObject | undefined): string {
  if (error === undefined) return 'it does not match'
  const where = error.instancePath === '' ? 'it' : error.instancePath
  return `${where} ${error.message ?? 'does not match'}`.slice(0, MAX_MESSAGE_CHARS)
}
