import { OpenApiError } from './read-openapi.js'

const MAX_BYTES = 4_000_000

/** The document in a file, JSON or YAML; the reader of YAML is fetched by whoever needs it. Throws `OpenApiError`. */
export async function parseFile(file: Blob): Promise<unknown> {
  if (file.size > MAX_BYTES) throw new OpenApiError('The file is larger than 4 MB.')
  const text = await file.text()
  if (/^\s*[{[]/.test(text)) {
    try {
      return JSON.parse(text)
    } catch (error) {
      throw new OpenApiError(`The file is not JSON: ${(error as Error).message}`)
    }
  }
  const { parse } = await import('yaml')
  try {
    return parse(text, { maxAliasCount: 100 })
  } catch (error) {
    const [first] = (error as Error).message.split('\n')
    throw new OpenApiError(`The file is neither JSON nor YAML: ${first}`)
  }
}
