import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createBits, pageOfBits } from '../../../src/discovery/bits.js'
import { createPostingsBuilder } from '../../../src/discovery/postings.js'
import { createTurns } from '../../../src/discovery/turns.js'

const MEMBERS = 200

it('gives back for each key and field the members that were added, few or many', async () => {
  const keysOfField = fc.uniqueArray(fc.nat(40).map((key) => Math.floor(key ** 2 / 40)))
  const member = fc.tuple(keysOfField, keysOfField)
  await fc.assert(
    fc.asyncProperty(fc.array(member, { maxLength: MEMBERS }), async (members) => {
      const builder = createPostingsBuilder(1)
      members.forEach((fields, number) => {
        fields.forEach((keys, field) => {
          for (const key of [...keys, ...keys]) builder.add(key, number, field)
        })
      })
      const postings = await builder.finish(MEMBERS, createTurns())
      for (let key = 0; key < 45; key++) {
        const with_ = (field: number) =>
          members.flatMap((fields, number) => (fields[field]?.includes(key) ? [number] : []))
        const targets = [createBits(MEMBERS), createBits(MEMBERS)]
        postings.addTo(targets, key)
        expect(targets.map((bits) => pageOfBits(bits, 0, MEMBERS))).toEqual([with_(0), with_(1)])
        expect(postings.countOf(key)).toBe(with_(0).length + with_(1).length)
        const onlySecond = createBits(MEMBERS)
        postings.addTo([undefined, onlySecond], key)
        expect(pageOfBits(onlySecond, 0, MEMBERS)).toEqual(with_(1))
      }
    }),
    { numRuns: 30 },
  )
})

it('lists the members of a key that has one field, dense or not', async () => {
  const builder = createPostingsBuilder(0)
  for (let member = 0; member < MEMBERS; member++) {
    builder.add(0, member)
    if (member % 100 === 5) builder.add(1, member)
  }
  const postings = await builder.finish(MEMBERS, createTurns())
  expect(postings.membersOf(0)).toEqual(Array.from({ length: MEMBERS }, (_, i) => i))
  expect(postings.membersOf(1)).toEqual([5, 105])
  expect(postings.membersOf(2)).toEqual([])
})
