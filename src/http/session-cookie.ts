/** Names the session of somebody who signed in; no script can read it. */
export const SESSION_COOKIE = 'arcus_session'
