/** Words that every endpoint of the listing has in its description: a hundred and twenty, none of which is a part of another one. */
export const LARGE_WORDS = Array.from({ length: 120 }, (_, i) => `wo${letters(i)}q`).join(' ')

const ENDPOINTS = 100

/** Returns endpoints of a listing whose JSON has at most so many bytes, with schemas that take long to check and to write. */
export function largeEndpoints(origin: string, bytes: number) {
  const bare = Array.from({ length: ENDPOINTS }, (_, i) => endpointAt(origin, i, {}))
  const schemaBytes = Math.floor((bytes - JSON.stringify(bare).length) / ENDPOINTS)
  return bare.map((_, i) => endpointAt(origin, i, propertiesOf(i, schemaBytes)))
}

function endpointAt(origin: string, i: number, properties: object) {
  return {
    url: `${origin}/e${i}`,
    method: 'GET' as const,
    title: `Endpoint ${i}`,
    description: LARGE_WORDS,
    price: '1000',
    example: { queryParams: { q: 'a' } },
    inputSchema: { type: 'object', properties },
  }
}

/** Makes properties with names and descriptions that no other has, so that compressing them is work. */
function propertiesOf(i: number, bytes: number) {
  const properties: Record<string, object> = { q: { type: 'string', description: `q${i}` } }
  for (let length = 60, n = 0; ; n++) {
    const name = `p${scrambled(i * 1_000 + n)}`
    const property = {
      type: ['string', 'null'],
      minLength: 1,
      description: scrambled(i * 1_000 + n + 500),
      anyOf: [{ minLength: 1 }, { $ref: '#/properties/q' }],
    }
    length += JSON.stringify(property).length + name.length + 4
    if (length > bytes) return properties
    properties[name] = property
  }
}

/** Seven letters and digits that look random, the same for the same number. */
function scrambled(number: number): string {
  const mixed = Math.imul(number + 1, 0x9e3779b1) ^ (Math.imul(number + 7, 0x85ebca6b) >>> 13)
  return (mixed >>> 0).toString(36).padStart(7, '0')
}

/** Two letters for each number below 676. */
function letters(number: number): string {
  return [Math.floor(number / 26), number % 26].map((n) => String.fromCharCode(97 + n)).join('')
}
