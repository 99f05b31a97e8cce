import { expect, it } from 'vitest'
import { createPreparation } from '../../../../src/directory/found/auto-catalog.js'
import type { InfoVerdict } from '../../../../src/directory/found/info-check.js'
import { aSettledPayment } from './an-offer.js'

const { payload } = aSettledPayment()
const soon = () => new Promise((resolve) => setImmediate(resolve))

function open(verdict: () => Promise<InfoVerdict>) {
  let clock = 0
  let asked = 0
  const check = () => {
    asked++
    return verdict()
  }
  const prepare = createPreparation({ check }, () => clock)
  return { prepare, asked: () => asked, wait: (ms: number) => (clock += ms) }
}

it('checks a few at a time and leaves the others until they are paid', async () => {
  const { prepare, asked } = open(() => new Promise(() => {}))
  for (let n = 0; n < 20; n++) prepare(payload)
  await soon()
  expect(asked()).toBe(8)
})

it('stops for a minute when one was too slow', async () => {
  const { prepare, asked, wait } = open(async () => ({
    ok: false,
    rejectedReason: '',
    isSlow: true,
  }))
  for (const passed of [0, 0, 59_999, 1]) {
    wait(passed)
    prepare(payload)
    await soon()
  }
  expect(asked()).toBe(2)
})

it('is not harmed by an extension that cannot be read or checked', async () => {
  const { prepare, asked } = open(() => Promise.reject(new Error('no thread')))
  const hostile = new Proxy(
    {},
    {
      getOwnPropertyDescriptor: () => {
        throw new Error('no')
      },
    },
  )
  for (const bad of [hostile, null, undefined, 7, {}]) prepare(bad)
  for (let n = 0; n < 20; n++) {
    prepare(payload)
    await soon()
  }
  expect(asked()).toBe(20)
})
