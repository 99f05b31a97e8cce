import { buildConnector } from 'undici'
import { describe, expect, it } from 'vitest'
import {
  BlockedTargetError,
  createGuardedConnector,
} from '../../../../src/directory/probe/guarded-connect.js'
import { aTarget } from './a-target.js'

it('sends nothing over a connection that reached another address than was checked', async () => {
  let requests = 0
  const target = await aTarget((_, response) => {
    requests++
    response.end()
  })
  const elsewhere = (options?: buildConnector.BuildOptions) =>
    buildConnector({
      ...options,
      lookup: (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    } as buildConnector.BuildOptions)
  let isConnected = false
  const connector = createGuardedConnector({
    rules: { allowPrivateHosts: true, ownOrigins: [] },
    resolve: async () => ['127.0.0.2'],
    signal: new AbortController().signal,
    onConnected: () => {
      isConnected = true
    },
    build: elsewhere as typeof buildConnector,
  })
  const error = await new Promise((resolve) => {
    const to = { hostname: 'api.example.com', protocol: 'http:', port: String(target.port) }
    connector(to, (...[failure]) => resolve(failure))
  })
  expect(error).toBeInstanceOf(BlockedTargetError)
  expect(isConnected).toBe(false)
  expect(requests).toBe(0)
  await target.close()
})

describe('a name', () => {
  it.each([
    ['private', ['10.0.0.1']],
    ['loopback', ['127.0.0.1']],
    ['metadata', ['169.254.169.254']],
    ['mapped', ['::ffff:127.0.0.1']],
    ['private, though the others are public', ['1.1.1.1', '2606:4700::1111', '192.168.0.1']],
    ['private, though the last is public', ['fd00:ec2::254', '1.1.1.1']],
    ['no address at all', ['intranet']],
  ])('is refused without opening a socket when an address of it is %s', async (_, addresses) => {
    let opened = 0
    const connector = createGuardedConnector({
      rules: { allowPrivateHosts: false, ownOrigins: [] },
      resolve: async () => addresses,
      signal: new AbortController().signal,
      onConnected: () => undefined,
      // Nothing is called even if the guard should fail.
      build: (() => {
        opened++
        return (_target, callback) => callback(new Error('opened'), null)
      }) as typeof buildConnector,
    })
    const error = await new Promise<Error | null>((resolve) => {
      const to = { hostname: 'api.example.com', protocol: 'https:', port: '' }
      connector(to, (...[failure]) => resolve(failure))
    })
    expect(error).toBeInstanceOf(BlockedTargetError)
    // Which address it was is knowledge of our network.
    for (const address of addresses) expect(error?.message).not.toContain(address)
    expect(opened).toBe(0)
  })
})
