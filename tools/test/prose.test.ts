import { describe, expect, test } from 'vitest'
import { prosePages } from '../prose.ts'
import { complaintsOf, maxWords } from '../prose/rules.ts'
import { readPage } from '../prose/sentences.ts'
import { docComments, publicComments, testTitles } from '../prose/source.ts'

const guide = { isReference: false, glossary: new Set(['incarnation']) }
const reference = { ...guide, isReference: true }

/** The rules that a page breaks, each with its line. */
function broken(text: string, kind = guide): string[] {
  return complaintsOf(readPage(text), kind).map(({ line, rule }) => `${line} ${rule}`)
}

const words = (count: number) => `${Array.from({ length: count }, () => 'word').join(' ')}.`

describe('a page is refused', () => {
  test.each([
    ['a sentence of too many words', `Fine. ${words(maxWords + 1)}`, '1 sentence-length'],
    ['one with code in it', `It has ${'`a b`, '.repeat(maxWords)}and more.`, '1 sentence-length'],
    ['Of at the beginning', 'Of a lease that is over there is none.', '1 opening'],
    ['Those', 'Fine.\nThose that wait go on.', '2 opening'],
    ['Who without a question', 'Who is late is refused.', '1 opening'],
    ['What without a question', 'What waits holds no slot. Does it?', '1 opening'],
    ['a list item that begins so', '# Page\n\n- Fine.\n- What was left.', '4 opening'],
    ['a cell that is a sentence', '| a |\n| - |\n| Whoever asks waits. |', '3 opening'],
    ['The same of', 'The same of a step.', '1 opening'],
    ['a handler that is gone through', 'The handler is gone through again.', '1 phrase'],
    ['told', 'The caller is told the reason.', '1 phrase'],
    ['hear of', '**Bold**, and it\nhears of the cancel.', '1 phrase'],
    ['a phrase in a heading', '## Without more ado', '1 phrase'],
    ['a word of the inside', 'This is Track AA.', '1 inside-word'],
    ['a link to the specification in the middle', '[Rules](semantics.md).\n\nMore.', '1 specification-link'],
    ['a second one at the end', '[A](../semantics.md#a), [B](../semantics.md).', '1 specification-link'],
  ])('for %s', (_, text, complaint) => {
    expect(broken(text)).toEqual([complaint])
  })
})

describe('a doc comment', () => {
  const source = `/** What a user may set. */
export interface Options {
  /**
   * The lane.
   * Whoever asks waits, \`told of\` or {@link told}.
   */
  readonly lane: string
}
/** What is inside. */
export const inside = 1
/** What nobody sees. */
function hidden() {}
`
  test('a public doc comment is refused as a sentence of a page is, and other comments are ignored', () => {
    const comments = publicComments('it.ts', source, new Set(['Options']))
    expect(complaintsOf(comments, reference).map(({ line, rule }) => `${line} ${rule}`)).toEqual([
      '1 opening',
      '5 opening',
    ])
  })

  test('a doc comment inside a clean package is refused whether or not it is public', () => {
    const comments = docComments('it.ts', source)
    expect(complaintsOf(comments, reference).map(({ line, rule }) => `${line} ${rule}`)).toEqual([
      '1 opening',
      '5 opening',
      '9 opening',
      '11 opening',
    ])
  })
})

describe('the title of a test', () => {
  const source = [
    "test('12.3 what waits holds no slot', () => {})",
    "test.each([1])('a task that waits holds no slot: %s', () => {})",
    'describe.skipIf(true)(`whoever ${asks} waits`, () => {})',
    "timed('6.3, 5.5 a task is told', async () => {})",
    "call('what is no test')",
    "it('so does another task', () => {})",
  ].join('\n')
  test('is refused as a sentence of a page is, after the number of its rule', () => {
    const titles = complaintsOf(testTitles('it.ts', source), { ...reference, isTitles: true })
    expect(titles.map(({ line, rule }) => `${line} ${rule}`)).toEqual([
      '1 opening',
      '3 opening',
      '4 phrase',
      '6 opening',
    ])
  })
})

describe('a page may have', () => {
  test.each([
    ['a sentence of as many words', words(maxWords)],
    ['long code', `\`${words(100)}\`\n\n\`\`\`ts\n// ${words(100)} Of old.\n\`\`\``],
    ['sentences that begin with code', '`a b` is one. '.repeat(maxWords)],
    ['a question', 'Who runs it? What happens then?'],
    ['a topic as its heading', '## What is guaranteed'],
    ['a topic in a table', '| what it does |\n| --- |\n| what it did |'],
    ['these words inside a sentence', 'The worker knows what is left of those.'],
    ['such words in code', 'It logs `told of`.'],
    ['a word that the glossary has', 'A new incarnation.'],
    ['a longer word around one of the inside', 'Kernels.'],
    ['each page of the specification once, at its end', 'Text.\n\n[A](semantics.md), [B](reliability.md#b).'],
  ])('%s', (_, text) => {
    expect(broken(text)).toEqual([])
  })

  test('in a reference words of the inside, and links to the specification', () => {
    expect(broken('Track AA: [rules](semantics.md), [again](semantics.md).\n\nMore.', reference)).toEqual([])
  })
})

test('a complaint says what to write instead', () => {
  const [complaint] = complaintsOf(readPage('Nothing is told.'), guide)
  expect(complaint?.message).toBe(
    'says "told" (instead: gets, sees, is notified, is reported) in "Nothing is told."',
  )
})

test('the pages are those for people, and none that a command writes', () => {
  const pages = prosePages()
  for (const page of [
    'README.md',
    'docs/semantics.md',
    'examples/01-hello/README.md',
    'packages/agent-runtime/README.md',
  ])
    expect(pages).toContain(page)
  expect(pages.filter((page) => page.startsWith('docs/evidence/') || page === 'docs/proof.md')).toEqual([])
})
