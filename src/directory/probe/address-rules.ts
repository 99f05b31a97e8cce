import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** IPv4 that is no host of the public internet: RFC 6890 and its registry, with 6to4 relays and multicast. */
const closedIpv4 = ranges([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/** IPv6 is the other way round: only global unicast is open, so every special prefix is closed unnamed. */
const openIpv6 = ranges(['2000::/3'])
/** What 2000::/3 holds that leads elsewhere: protocol assignments with Teredo, documentation, 6to4. */
const closedIpv6 = ranges(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** Where a developer's own servers live. Link-local is not among them: it is where clouds keep their secrets. */
const localIpv4 = ranges(['10.0.0.0/8', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'])
const localIpv6 = ranges(['::1/128', 'fc00::/7'])
/** A cloud's metadata service in the midst of the private range. */
const metadataIpv6 = ranges(['fd00:ec2::/32'])

/** Whether an IP, as resolvers and sockets spell it, is a host of the public internet. Anything else is not. */
export function isPublicAddress(text: string): boolean {
  const version = isIP(text)
  if (version === 4) return !isIn(closedIpv4, text)
  return version === 6 && isIn(openIpv6, text) && !isIn(closedIpv6, text)
}

/** Whether an IP is of this machine or a private network around it, metadata services excepted. */
export function isLocalAddress(text: string): boolean {
  const version = isIP(text)
  if (version === 4) return isIn(localIpv4, text)
  return version === 6 && isIn(localIpv6, text) && !isIn(metadataIpv6, text)
}

/** One spelling an address, so that two can be compared. */
export function normalAddress(text: string): string {
  return isIP(text) === 0 ? text : ipaddr.parse(text).toNormalizedString()
}

function ranges(texts: string[]): Range[] {
  return texts.map((text) => ipaddr.parseCIDR(text))
}

function isIn(list: Range[], text: string): boolean {
  const address = ipaddr.parse(text)
  return list.some((range) => address.kind() === range[0].kind() && address.match(range))
}
