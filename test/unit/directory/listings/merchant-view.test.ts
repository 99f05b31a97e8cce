import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findNameWarning } from '../../../../src/directory/listings/merchant-view.js'
import { openListings, owner } from '../listed-merchants.js'

let listings: ReturnType<typeof openListings>
beforeEach(async () => {
  listings = openListings()
  await listings.list('acme-pay')
})
afterEach(() => listings.close())

const stranger = '0x2222222222222222222222222222222222222222'
const warningOf = (name: string, by: typeof owner = stranger, id = 'shop') =>
  findNameWarning({ id, name, owner: by }, listings.store)

describe('a name', () => {
  it.each(['Acme Pay', 'ACME-PAY', 'Ａｃｍｅ Ｐａｙ', 'асме рау', 'Ácme pay!'])(
    'that looks like a merchant of somebody else is warned of: %s',
    async (name) => {
      expect(await warningOf(name)).toContain('acme-pay')
    },
  )

  it('of the merchant itself, or of its owner, is nothing to warn of', async () => {
    expect(await warningOf('Acme Pay', stranger, 'acme-pay')).toBeUndefined()
    expect(await warningOf('Acme Pay', owner)).toBeUndefined()
    expect(await warningOf('Acme Payments')).toBeUndefined()
  })

  it('that mixes alphabets in a word is warned of, one of a single alphabet is not', async () => {
    expect(await warningOf('Раypal')).toContain('alphabets')
    expect(await warningOf('Погода')).toBeUndefined()
    expect(await warningOf('Погода API')).toBeUndefined()
    expect(await warningOf('天気')).toBeUndefined()
  })
})
