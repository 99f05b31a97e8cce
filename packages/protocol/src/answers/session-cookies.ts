/** Names of the two cookies of a session. */
export interface SessionCookies {
  /** The session of a wallet that signed in. No script can read it. */
  session: 'arcus_session' | '__Host-arcus_session'
  /**
   * Marks the session as over. A page sets it by script when a person signs out, because a script cannot remove
   * the session's own cookie and the service may be unreachable at that moment.
   */
  signedOut: 'arcus_signed_out' | '__Host-arcus_signed_out'
}

/**
 * Returns the names by the URL of the directory. Browsers take a name with `__Host-` only from this very host, over https
 * and for all paths, so that no page of a neighbouring subdomain can set one. They refuse it over http.
 */
export function sessionCookies(url: string): SessionCookies {
  return url.startsWith('https:')
    ? { session: '__Host-arcus_session', signedOut: '__Host-arcus_signed_out' }
    : { session: 'arcus_session', signedOut: 'arcus_signed_out' }
}
