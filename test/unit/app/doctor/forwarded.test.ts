import { request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { checkPublicAddress } from '../../../../src/app/doctor/examine.js'
import { anEdgesServer } from '../../../http/edges-server.js'
import { startServer } from '../../../support/a-server.js'

/** Starts the service behind a proxy that writes this into `X-Forwarded-For`, and returns the address of the proxy. */
async function behindProxy(forwardedFor: string | undefined): Promise<string> {
  const { app } = await anEdgesServer()
  const service = await app.listen({ host: '127.0.0.1', port: 0 })
  const proxy = await startServer((from, to) => {
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
    request(`${service}${from.url}`, { headers, agent: false }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(to)
    }).end()
  })
  onTestFinished(proxy.close)
  return proxy.url
}

it.each([
  ['198.51.100.7', 1, 'ok X-Forwarded-For: addresses'],
  ['[2001:db8::7]:4711', 1, 'ok X-Forwarded-For: addresses'],
  ['198.51.100.7', false, 'warn X-Forwarded-For: a proxy sets it, and TRUST_PROXY is unset'],
  ['unknown', 1, 'warn X-Forwarded-For: the proxy writes no address into it'],
  [undefined, 1, 'warn X-Forwarded-For: TRUST_PROXY is set, and no proxy sets it'],
  [undefined, false, 'ok X-Forwarded-For: none'],
])(
  'the doctor says what the proxy in front writes: %s with TRUST_PROXY %s',
  async (written, trustProxy, says) => {
    const baseUrl = await behindProxy(written)
    const findings = await checkPublicAddress({
      baseUrl,
      directoryUrl: baseUrl,
      trustProxy,
      only: undefined,
    })
    const said = findings.map(({ state, name, detail }) => `${state} ${name}: ${detail}`)
    expect(said).toEqual([`ok reachable: ${baseUrl}/health says ok`, expect.stringContaining(says)])
  },
)
