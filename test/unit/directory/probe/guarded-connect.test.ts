import { createSocket, type Socket } from 'node:dgram'
import { buildConnector } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import {
  BlockedTargetError,
  createGuardedConnector,
  createPublicResolver,
  resolveLocally,
} from '../../../../src/directory/probe/target-rules.js'
import { aTarget } from '../../../support/directory/a-target.js'

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
    // Whether there is an address, and which one it was, is knowledge of our network.
    expect(error).toMatchObject({ code: 'ENOTFOUND' })
    for (const address of addresses) expect(error?.message).not.toContain(address)
    expect(opened).toBe(0)
  })
})

const A = 1
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})

/** A name server on loopback that knows IPv4 addresses of every name, or none. */
async function aNameServer(addresses: string[] | undefined): Promise<string> {
  const socket = createSocket('udp4')
  sockets.push(socket)
  socket.on('message', (query, from) => {
    if (addresses !== undefined) socket.send(toReply(query, addresses), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return `127.0.0.1:${socket.address().port}`
}

/** Repeats the question and answers it (RFC 1035, section 4.1). */
function toReply(query: Buffer, addresses: string[]): Buffer {
  const end = query.indexOf(0, 12) + 5
  const isA = query.readUInt16BE(end - 4) === A
  const records = (isA ? addresses : []).map((address) =>
    Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  )
  const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0])
  query.copy(header, 0, 0, 2)
  return Buffer.concat([header, query.subarray(12, end), ...records])
}

describe('the resolver for public names', () => {
  it('answers all addresses, also when there are none of the other family', async () => {
    const resolve = createPublicResolver([await aNameServer(['127.0.0.1', '10.0.0.1'])])
    expect([...(await resolve('api.example.com'))].sort()).toEqual(['10.0.0.1', '127.0.0.1'])
  })

  it('rejects with the code of the name servers when there are none', async () => {
    const resolve = createPublicResolver([await aNameServer([])])
    await expect(resolve('api.example.com')).rejects.toMatchObject({ code: 'ENODATA' })
  })

  it('gives up on a name server that is silent', async () => {
    const resolve = createPublicResolver([await aNameServer(undefined)], 100)
    await expect(resolve('api.example.com')).rejects.toMatchObject({ code: 'ETIMEOUT' })
  })
})

it('knows this machine by its name when it resolves locally', async () => {
  expect(await resolveLocally('localhost')).toContain('127.0.0.1')
})
