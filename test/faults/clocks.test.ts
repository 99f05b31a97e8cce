import { afterEach, describe, expect, it } from 'vitest'
import { createClient } from './support/client.js'
import { findFaketime } from './support/debian.js'
import { aSignedPayment } from './support/payments.js'
import { type Replicas, startReplicas } from './support/replicas.js'
import { expectAllSettledAndTrue } from './support/world.js'

const library = findFaketime()
let world: Replicas

afterEach(() => world?.close())

describe.skipIf(library === undefined)(
  'replicas whose clocks are apart (skipped without the Debian package libfaketime)',
  () => {
    it.each([7, 30])('by %i seconds each way judge payments alike', async (seconds) => {
      const shifts = [0, seconds, -seconds]
      world = await startReplicas({
        replicas: 3,
        relayers: 3,
        envOf: (i) => ({
          LD_PRELOAD: library,
          FAKETIME: `${(shifts[i] as number) < 0 ? '' : '+'}${shifts[i]}s`,
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
          DONT_FAKE_MONOTONIC: '1',
        }),
      })
      const clients = shifts.map((_, i) => createClient(world.service(i).url))
      for (const [i, client] of clients.entries()) {
        // To a clock that is ahead this payment would end too soon for verify, which wants six seconds.
        const short = await aSignedPayment({ validSeconds: seconds + 5 })
        expect({ i, isValid: await client.verify(short) }).toEqual({ i, isValid: true })
        // To a clock that is behind this one would not have begun.
        const young = await aSignedPayment({ validAfterSeconds: -5 })
        await client.settleUntilTold([young], 20_000)
        expect(client.answers.at(-1)?.body).toMatchObject({ success: true })
        const late = await aSignedPayment({ validSeconds: -1 })
        expect({ i, isValid: await client.verify(late) }).toEqual({ i, isValid: false })
      }
      // One success for each, whichever replica is asked, and in whichever order.
      for (let round = 0; round < 3; round++) {
        const payment = await aSignedPayment()
        const answers = await world.client.settleAll(Array.from({ length: 30 }, () => payment))
        expect(answers.filter(({ body }) => body?.success)).toHaveLength(1)
      }
      for (const client of clients) {
        world.client.answers.push(...client.answers)
        await client.close()
      }
      await expectAllSettledAndTrue(world, [])
    })
  },
)
