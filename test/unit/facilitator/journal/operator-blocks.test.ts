import { expect, it } from 'vitest'
import {
  type Block,
  type BlockStore,
  readOperatorBlocks,
} from '../../../../src/facilitator/journal/blocks.js'

const address = '0x00000000000000000000000000000000000000b2'
const other = '0x00000000000000000000000000000000000000b3'
const aBlock = (role: Block['role']): Block => ({ role, address, reason: 'fraud', createdAt: 0 })
const aStore = (listBlocks: BlockStore['listBlocks']) =>
  ({ listBlocks }) satisfies Pick<BlockStore, 'listBlocks'>

it('an address is blocked in the role that the operator named, and no other is', async () => {
  const blocks = await readOperatorBlocks(aStore(async () => [aBlock('payTo')]))
  expect(blocks.isBlocked('payTo', address)).toBe(true)
  expect(blocks.isBlocked('payer', address)).toBe(false)
  expect(blocks.isBlocked('payTo', other)).toBe(false)
})

it('a change by another process is obeyed from the next refresh on, and a store that fails changes nothing', async () => {
  let listed: Block[] | undefined = []
  const blocks = await readOperatorBlocks(
    aStore(async () => {
      if (listed === undefined) throw new Error('away')
      return listed
    }),
  )
  expect(blocks.isBlocked('payer', address)).toBe(false)
  listed = [aBlock('payer')]
  await blocks.refresh()
  expect(blocks.isBlocked('payer', address)).toBe(true)
  listed = undefined
  await expect(blocks.refresh()).rejects.toThrow('away')
  expect(blocks.isBlocked('payer', address)).toBe(true)
  listed = []
  await blocks.refresh()
  expect(blocks.isBlocked('payer', address)).toBe(false)
})
