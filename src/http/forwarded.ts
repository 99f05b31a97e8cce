import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

export const FORWARDED_FOR = 'x-forwarded-for'

/** Reads an address as proxies write it: with a port, in brackets, with a zone, or mapped into IPv6. `undefined` if it is none. */
function readAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^\s*(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(text) ?? []
  const [address = ''] = (bracketed ?? withPort ?? text.trim()).split('%', 1)
  if (isIP(address) === 0 || (bracketed !== undefined && isIPv4(address))) return undefined
  return ipaddr.process(address).toString()
}

/**
 * Returns the addresses of an `X-Forwarded-For` in its order, each in one form. The last ones were written by the nearest
 * proxies, so what stands before a text that is no address could be anybody's word and is left out with it: the caller
 * counts as the proxy that wrote it.
 */
export function readForwarded(header: string): string[] {
  const addresses: string[] = []
  for (const text of header.split(',').reverse()) {
    const address = readAddress(text)
    if (address === undefined) break
    addresses.unshift(address)
  }
  return addresses
}

/** What `X-Forwarded-For` holds when a request arrives, for the operator. */
type ForwardedForm = 'none' | 'addresses' | 'unreadable'

/** Reads the form of the header as it arrived, also where no proxy is trusted. */
export function formOfForwarded({ rawHeaders }: IncomingMessage): ForwardedForm {
  const given = rawHeaders.filter(
    (_, index) => rawHeaders[index - 1]?.toLowerCase() === FORWARDED_FOR,
  )
  if (given.length === 0) return 'none'
  return readForwarded(given.join(',')).length === 0 ? 'unreadable' : 'addresses'
}
