import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Anvil, findAnvil, startAnvil } from '../../../src/devnet/anvil.js'
import { freePort, PortTakenError } from '../../../src/devnet/process.js'
import { call } from '../../../src/devnet/rpc.js'

const started: Anvil[] = []

async function start(options?: Parameters<typeof startAnvil>[0]): Promise<Anvil> {
  const anvil = await startAnvil(options)
  started.push(anvil)
  return anvil
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((anvil) => anvil.stop()))
})

describe('startAnvil', () => {
  it('takes chain id, port, base fee and gas limit from its options', async () => {
    const port = await freePort()
    const anvil = await start({
      chainId: 5042002,
      port,
      baseFeeWei: 20n * 10n ** 9n,
      blockGasLimit: 12_000_000n,
    })
    const genesis = await call(anvil.url, 'eth_getBlockByNumber', ['0x0', false])
    expect(anvil.url).toBe(`http://127.0.0.1:${port}`)
    expect(await call(anvil.url, 'eth_chainId')).toBe('0x4cef52')
    expect(genesis).toMatchObject({ baseFeePerGas: '0x4a817c800', gasLimit: '0xb71b00' })
  })

  it('says in one sentence which port is taken', async () => {
    const holder = createServer()
    const port = await freePort()
    await new Promise<void>((resolve) => holder.listen(port, '127.0.0.1', resolve))
    const refusal = await startAnvil({ port }).catch((error: unknown) => error)
    holder.close()
    expect(refusal).toBeInstanceOf(PortTakenError)
    expect((refusal as Error).message).toMatch(new RegExp(`^Port ${port} for anvil is .*taken`))
  })

  it('repeats the error of anvil when it does not start', async () => {
    await expect(startAnvil({ extraArgs: ['--no-such-flag'] })).rejects.toThrow(
      /anvil did not start on port \d+: .*--no-such-flag/,
    )
  })

  it('reports how it ended, and may be stopped twice', async () => {
    const anvil = await startAnvil()
    process.kill(anvil.pid, 'SIGKILL')
    expect(await anvil.exited).toEqual({ code: null, signal: 'SIGKILL' })
    await anvil.stop()
    await anvil.stop()
  })
})

describe('findAnvil', () => {
  it('says how to get a missing binary', () => {
    expect(() => findAnvil('', () => undefined)).toThrow(/getfoundry\.sh/)
  })

  it.runIf(process.platform === 'linux' && process.arch === 'x64')(
    'falls back to the npm package when PATH has none',
    () => {
      expect(findAnvil('')).toMatch(/anvil-linux-(amd64|arm64)\/bin\/anvil$/)
    },
  )
})

describe('freePort', () => {
  it('gives a port to one process alone, also while its server is down', async () => {
    const port = await freePort()
    const another = createSocket('udp4')
    const refusal = new Promise((resolve) => another.once('error', resolve))
    another.bind({ port, address: '127.0.0.1', exclusive: true })
    expect(await refusal).toMatchObject({ code: 'EADDRINUSE' })
    another.close()
  })
})
