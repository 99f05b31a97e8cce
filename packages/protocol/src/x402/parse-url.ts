/**
 * Parses a URL; `undefined` when the text is none. `URL.canParse` is not used: once its caller is compiled, Node 20
 * misreads letters such as ü.
 */
export function parseUrl(text: string, base?: URL): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}

/**
 * Returns scheme, host and path of a URL, which is what may be kept and shown of a buyer's call: its login, query and
 * fragment are the buyer's own. `undefined` when the text is no URL or has no host.
 */
export function withoutQuery(text: string): string | undefined {
  const url = parseUrl(text)
  if (url === undefined || url.host === '') return undefined
  return `${url.protocol}//${url.host}${url.pathname}`
}
