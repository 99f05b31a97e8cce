import { expect, it, vi } from 'vitest'
import { watchBatchContracts } from '../../../src/chain/batch-settlement.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'

const CHECK_MS = 60_000

it('follows the code of the contracts, and keeps what it knew while the chain cannot be read', async () => {
  vi.useFakeTimers()
  let code: string | undefined = '0x'
  const batch: Rpc['batch'] = async (calls) => {
    if (code === undefined) throw new RpcUnavailableError('gone')
    return calls.map(() => ({ ok: true, value: code }))
  }
  const watch = await watchBatchContracts({ batch } as Rpc, { info() {} }, CHECK_MS)
  expect(watch.isDeployed()).toBe(false)
  code = '0x60'
  await vi.advanceTimersByTimeAsync(CHECK_MS)
  expect(watch.isDeployed()).toBe(true)
  code = undefined
  await vi.advanceTimersByTimeAsync(CHECK_MS)
  expect(watch.isDeployed()).toBe(true)
  code = '0x'
  await vi.advanceTimersByTimeAsync(CHECK_MS)
  expect(watch.isDeployed()).toBe(false)
  watch.stop()
  vi.useRealTimers()
})
