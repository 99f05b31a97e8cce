/**
 * Reads a URL; `undefined` for what is none. `URL.canParse` is not asked: once its caller is compiled, Node 20 takes
 * letters such as ü for broken ones.
 */
export function parseUrl(text: string, base?: URL): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
