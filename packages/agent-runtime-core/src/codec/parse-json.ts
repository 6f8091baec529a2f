/**
 * `JSON.parse`, right also where the engine's is wrong. V8 of Node 26 takes a key that is written with an escape for the key that came at the same
 * place of an earlier object, when its escaped text begins like that one: after `{"a":0,"\\":0}` it reads `{"a":0,"\n":0}` with the key `\`.
 * Throws a SyntaxError as `JSON.parse` does.
 */
export function parseJson(text: string): unknown {
  return takesKeysForOthers && hasEscapedKey(text) ? parseBySteps(text) : JSON.parse(text)
}

const takesKeysForOthers = (() => {
  JSON.parse('{"a":0,"\\\\":0}')
  return !Object.hasOwn(JSON.parse('{"a":0,"\\n":0}') as object, '\n')
})()

/** Whether a string with an escape stands before a colon. Reads the text once, from string to string. */
export function hasEscapedKey(text: string): boolean {
  if (!text.includes('\\')) return false
  for (const [string, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g))
    if (colon !== undefined && string.includes('\\')) return true
  return false
}

/** A string, a number or a word, or one of the signs between them; white space before it is passed over. */
const token = /\s*("[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{},:])/y

/** The value, parsed without the engine's parser of objects: `JSON.parse` reads only the single tokens. */
export function parseBySteps(text: string): unknown {
  // Text that is not JSON is refused as usual; only the keys of valid JSON may be wrong.
  JSON.parse(text)
  const root: unknown[] = []
  const stack: { readonly into: unknown[] | Record<string, unknown>; key: string | undefined }[] = [
    { into: root, key: undefined },
  ]
  token.lastIndex = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const sign = match[1] as string
    const top = stack.at(-1) as (typeof stack)[number]
    if (sign === ',' || sign === ':') continue
    if (sign === ']' || sign === '}') {
      stack.pop()
      continue
    }
    if (!Array.isArray(top.into) && top.key === undefined) {
      top.key = JSON.parse(sign) as string
      continue
    }
    const value: unknown = sign === '[' ? [] : sign === '{' ? {} : JSON.parse(sign)
    put(top, value)
    if (sign === '[' || sign === '{')
      stack.push({ into: value as unknown[] | Record<string, unknown>, key: undefined })
  }
  return root[0]
}

/** As an own property, whatever the key. */
function put(
  top: { readonly into: unknown[] | Record<string, unknown>; key: string | undefined },
  value: unknown,
) {
  if (Array.isArray(top.into)) top.into.push(value)
  else
    Object.defineProperty(top.into, top.key as string, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    })
  top.key = undefined
}
