import { expect, it } from 'vitest'
import { judge } from '../../../../src/directory/paid-checks/verdicts.js'

it.each([
  ['fits', '[1]', 'delivered'],
  ['does not fit', '["1"]', 'wrong_shape'],
  ['nests too deep to be compared', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, 'delivered'],
  ['is too large to be compared', `[${'1,'.repeat(70_000)}1]`, 'delivered'],
])('an answer that %s', async (_, body, reason) => {
  const example = { const: [1] }
  const schema = { properties: { output: { properties: { example } } } }
  const extras = { extensions: { bazaar: { schema } } }
  expect(await judge(new Response(body), { extras })).toMatchObject({ reason })
})
