export function Console() {
  return null
}
