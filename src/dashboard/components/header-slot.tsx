import { createContext, type ReactNode, useContext } from 'react'
import { createPortal } from 'react-dom'

/** The place in the header that a page may fill; `null` until it is drawn. */
export const HeaderSlot = createContext<HTMLElement | null>(null)

/** Puts what belongs to the part of the site one is in beside the navigation. */
export function InHeader({ children }: { children: ReactNode }) {
  const slot = useContext(HeaderSlot)
  return slot === null ? null : createPortal(children, slot)
}
