import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'
import type { OpenApiDocument } from '../src/http/openapi.js'

/** The types of `arcus-client`, as `npm run client-types` writes them from the service's own description. */
export const clientTypes = fileURLToPath(
  new URL('../packages/client/src/openapi.ts', import.meta.url),
)

const head = `/*
 * Requests and answers of every public route, written from the OpenAPI document of the service by \`npm run client-types\`.
 * A test holds this file to the document.
 */
`

/**
 * Returns the types of the document. Refusals are left out, because they are all of one form and become an \`ArcusError\`;
 * so are headers, members that the generator writes to say that there is nothing, and tags that repeat the type.
 */
export async function writeClientTypes(document: OpenApiDocument): Promise<string> {
  const paths = Object.entries(document.paths).map(([path, item]) => {
    const operations = Object.entries(item).map(([method, { responses, ...operation }]) => {
      const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
      const bare = successes.map(([status, { headers: _, ...response }]) => [status, response])
      return [method, { ...operation, responses: Object.fromEntries(bare) }]
    })
    return [path, Object.fromEntries(operations)]
  })
  const reduced = { ...document, paths: Object.fromEntries(paths) }
  const options = { alphabetize: true, defaultNonNullable: false }
  const written = astToString(await openapiTS(JSON.stringify(reduced), options))
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, { operationId }]) =>
        `    "${method.toUpperCase()} ${path}": operations["${operationId}"];`,
    ),
  )
  const routeTypes = `export interface routes {\n${routes.sort().join('\n')}\n}\n`
  const types = written
    .replace(/^export interface paths \{[\s\S]*?^\}\n/m, routeTypes)
    .replace(/^export type (webhooks|\$defs) = .*\n/gm, '')
    .replace(/^ +\w+\?: never;\n/gm, '')
    .replace(/^ +headers: \{\n +\[name: string\]: unknown;\n +\};\n/gm, '')
    .replace(/^ +(?:\/\*\*|\*) (?:@constant|@enum).*\n/gm, '')
    .replace(/\/\*\*\n +\* (.*)\n +\*\//g, '/** $1 */')
    .replace(/\{\n +\[key: string\]: (.+);\n +\}/g, 'Record<string, $1>')
    .replace(/^( +(?:Address|Hash)): string;$/gm, `$1: \`0x\${string}\`;`)
    .replaceAll('    ', '  ')
  return head + types
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { startService } = await import('../test/openapi/a-service.js')
  const service = await startService()
  writeFileSync(clientTypes, await writeClientTypes(service.document))
  await service.close()
}
