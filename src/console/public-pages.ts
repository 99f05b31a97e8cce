/** The pages that everybody may see and that never change their address. The service answers them and lists them in its sitemap. */
export const publicPages = [
  '/',
  '/payments',
  '/status',
  '/how-it-works',
  '/quickstart',
  '/operations',
] as const

export type PublicPage = (typeof publicPages)[number]
