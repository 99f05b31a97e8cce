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
