/**
 * The console runs only what this origin serves and speaks only to it: no inline code, no other host, no frame around
 * it. Icons of wallets come as data URIs (EIP-6963). Text of listings cannot become markup (Trusted Types).
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** One year, as hashed names are never used again. */
export const FOREVER = 'public, max-age=31536000, immutable'
/** Kept, but asked for again by its tag before it is used. */
export const ASK_AGAIN = 'no-cache'

/** Headers of every file of the console; `isSecure` when its public address is https. */
export function dashboardHeaders(isSecure: boolean): Record<string, string> {
  return {
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin-allow-popups',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(isSecure ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  }
}
