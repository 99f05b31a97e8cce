/** Names of the two cookies of a session. */
export interface SessionCookies {
  /** The session of a wallet that signed in. No script can read it. */
  session: string
  /**
   * Marks the session beside it as over. A page sets it by script when a person signs out, because a script cannot remove
   * the session's own cookie and the service may be unreachable at that moment.
   */
  signedOut: string
}

/**
 * Returns the names by the URL of the directory. Browsers take a name with `__Host-` only from this very host, over https
 * and for all paths, so that no page of a neighbouring subdomain can set one. They refuse it over http.
 */
export function sessionCookies(url: string): SessionCookies {
  const prefix = url.startsWith('https:') ? '__Host-' : ''
  return { session: `${prefix}arcus_session`, signedOut: `${prefix}arcus_signed_out` }
}
