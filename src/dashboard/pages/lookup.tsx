export function Lookup() {
  return null
}
