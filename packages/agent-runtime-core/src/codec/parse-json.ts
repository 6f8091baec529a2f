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

/**
 * Whether a string with an escape stands before a colon. Reads the text once, from string to string. A pattern would keep a place to come back to for each
 * escape, and has no room for millions of them.
 */
export function hasEscapedKey(text: string): boolean {
  let escape = text.indexOf('\\')
  for (let start = text.indexOf('"'); start !== -1 && escape !== -1;) {
    const end = endOfString(text, start)
    if (end === -1) return false
    if (escape < end) {
      colon.lastIndex = end + 1
      if (colon.test(text)) return true
      escape = text.indexOf('\\', end)
    }
    start = text.indexOf('"', end + 1)
  }
  return false
}

/** Where the string ends that begins at `start`: at the next quote that has no escape, which an even number of backslashes stands before. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === backslash) first -= 1
    if ((end - first) % 2 === 0) return end
  }
  return -1
}

const backslash = 92
const colon = /\s*:/y
/** A number or a word, the begin of a string, or one of the signs between them; white space before it is passed over. */
const token = /\s*(-?\d[\d.eE+-]*|true|false|null|[[\]{},:"])/y

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
    const sign = match[1] === '"' ? stringAt(text) : (match[1] as string)
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

/** The string whose first quote was read just now. */
function stringAt(text: string): string {
  const start = token.lastIndex - 1
  token.lastIndex = endOfString(text, start) + 1
  return text.slice(start, token.lastIndex)
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
