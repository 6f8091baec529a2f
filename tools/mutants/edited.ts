/** Throws where the source is not what the mutant was made for. */
export function edited(text: string, find: string, replace: string, name: string): string {
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`mutant '${name}': ${count} places like ${JSON.stringify(find)}, not one`)
  return text.replace(find, () => replace)
}
