import type { Address } from 'viem'
import { expect, it, vi } from 'vitest'
import { watchContracts } from '../../../src/chain/deployments.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'

const CHECK_MS = 60_000
const [shared, ofOne, ofTwo] = ['0xa1', '0xb1', '0xb2'] as Address[]

it('follows the code of each group of contracts, and keeps its last result while the chain cannot be read', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let deployed: unknown[] | undefined = []
  const batch: Rpc['batch'] = async (calls) => {
    if (deployed === undefined) throw new RpcUnavailableError('gone')
    const codeOf = (address: unknown) => (deployed?.includes(address) ? '0x60' : '0x')
    return calls.map(({ params }) => ({ ok: true, value: codeOf(params[0]) }))
  }
  const groups = { one: [shared, ofOne] as Address[], two: [shared, ofTwo] as Address[] }
  const watch = await watchContracts({ batch } as Rpc, groups, { info() {} }, CHECK_MS)
  const [one, two] = [watch.of('one'), watch.of('two')]
  const changes: unknown[] = []
  one.onChange((isDeployed) => changes.push(['one', isDeployed]))
  two.onChange((isDeployed) => changes.push(['two', isDeployed]))
  const look = async (code: unknown[] | undefined) => {
    deployed = code
    vi.advanceTimersByTime(CHECK_MS)
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
    return [one.isDeployed(), two.isDeployed()]
  }
  expect([one.isDeployed(), two.isDeployed()]).toEqual([false, false])
  expect(await look([shared, ofOne])).toEqual([true, false])
  expect(await look(undefined)).toEqual([true, false])
  expect(await look([shared, ofOne, ofTwo])).toEqual([true, true])
  expect(await look([ofOne, ofTwo])).toEqual([false, false])
  expect(changes).toEqual([
    ['one', true],
    ['two', true],
    ['one', false],
    ['two', false],
  ])
  watch.stop()
  vi.useRealTimers()
})
