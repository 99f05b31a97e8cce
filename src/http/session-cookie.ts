/** Names the session of somebody who signed in; no script can read it. */
export const SESSION_COOKIE = 'arcus_session'

/**
 * Says that the session beside it is over. A page sets it by script when a person leaves, because it cannot take the
 * session's own cookie away, and the service may be out of reach at that moment.
 */
export const SIGNED_OUT_COOKIE = 'arcus_signed_out'
