import { getDomain } from 'tldts'

/**
 * Returns the place that somebody has to own to serve a URL: the domain that is registered, by the Public Suffix List with
 * its platforms, so that two shops of one platform are two places and two names below one domain are one. A host without
 * such a domain, such as an address, is a place with its port.
 */
export function siteOf(url: string): string {
  const { hostname, host } = new URL(url)
  return getDomain(hostname, { allowPrivateDomains: true }) ?? host
}
