import { describe, expect, it } from 'vitest'
import { type RelayerTransaction, SignerError } from '../../../src/facilitator/relayer/signer.js'
import { watchSigner } from '../../../src/facilitator/relayer/watched-signer.js'
import { settled } from './a-lane.js'

const address = `0x${'7c'.repeat(20)}` as const
const payment: RelayerTransaction = {
  chainId: 5042,
  nonce: 7,
  to: `0x${'36'.repeat(20)}`,
  data: '0x1234',
  gasLimit: 100_000n,
  maxFeePerGas: 60n,
  maxPriorityFeePerGas: 1n,
}

function aSigner({ isRemote = true } = {}) {
  const world = { now: 0, error: undefined as Error | undefined }
  const trials: number[] = []
  const said: string[] = []
  const signer = watchSigner(
    {
      address,
      isRemote,
      async sign({ gasLimit }) {
        if (gasLimit === 0n) trials.push(world.now)
        if (world.error !== undefined) throw world.error
        return '0x02'
      },
    },
    {
      chainId: 5042,
      now: () => world.now,
      onFailure: (reason) => void said.push(reason),
      onRecovery: () => void said.push('signs again'),
    },
  )
  const fail = (error: Error = new SignerError('no answer')) => {
    world.error = error
    return expect(signer.sign(payment)).rejects.toThrow(error)
  }
  /** Asks twice a second whether a try is due, as a lane does. */
  async function watchFor(ms: number) {
    for (const end = world.now + ms; world.now < end; ) {
      world.now += 500
      signer.tryAgain()
      await settled()
    }
  }
  return { signer, world, trials, said, fail, watchFor }
}

describe('a watched signer', () => {
  it('that fails is tried after 0.5, 1 and 2 seconds, then every 2, and is said to fail once', async () => {
    const { signer, trials, said, fail, watchFor } = aSigner()
    await fail()
    expect(signer.failure()).toBe('its signer fails: no answer')
    await watchFor(8_000)
    expect(trials).toEqual([500, 1_500, 3_500, 5_500, 7_500])
    expect(said).toEqual(['its signer fails: no answer'])
  })

  it('signs again once a trial succeeds, and is not tried any more', async () => {
    const { signer, world, trials, said, fail, watchFor } = aSigner()
    await fail()
    world.error = undefined
    await watchFor(10_000)
    expect(signer.failure()).toBeUndefined()
    expect(trials).toEqual([500])
    expect(said).toEqual(['its signer fails: no answer', 'signs again'])
  })

  it('that signs trials but no payments is given payments ever more rarely', async () => {
    const { signer, world, trials, fail, watchFor } = aSigner()
    const waits: number[] = []
    for (let i = 0; i < 4; i++) {
      const failedAt = world.now
      await fail()
      world.error = undefined
      await watchFor(2_000)
      expect(signer.failure()).toBeUndefined()
      waits.push((trials.at(-1) as number) - failedAt)
    }
    expect(waits).toEqual([500, 1_000, 2_000, 2_000])
    await signer.sign(payment)
    await fail()
    world.error = undefined
    const failedAt = world.now
    await watchFor(2_000)
    expect((trials.at(-1) as number) - failedAt).toBe(500)
  })

  it('is tried before it is needed if the key is elsewhere', async () => {
    const remote = aSigner()
    remote.world.error = new SignerError('no answer')
    remote.signer.tryEarly()
    await settled()
    expect(remote.signer.failure()).toBe('its signer fails: no answer')
    const local = aSigner({ isRemote: false })
    local.signer.tryEarly()
    expect(local.trials).toEqual([])
  })

  it('does not count an error of our own as a failure of the signer', async () => {
    const { signer, said, fail } = aSigner()
    await fail(new TypeError('a bug'))
    expect(signer.failure()).toBeUndefined()
    expect(said).toEqual([])
  })
})
