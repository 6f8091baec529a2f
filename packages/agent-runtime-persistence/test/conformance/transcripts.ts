import type { OpenStore, TestTools } from '@ku0/agent-runtime-conformance'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import { Transcript } from './transcript.ts'

/** How to record them anew: what a test that fails says. */
const advice =
  'what this test asks, loads and writes is not as it was recorded: if that is meant, run `pnpm transcripts`, and look at what has changed'

/**
 * The transcripts of a part of the suite, a block for each test, as a file of the repository keeps them. With `RECORD=1` it is written, and with
 * `RECORD=FOLDER` a file with all values goes there: two of them, of before and after a change, show which value is another one.
 */
export class Transcripts {
  readonly #file: string
  readonly #folder = process.env['RECORD']
  readonly #recorded: ReadonlyMap<string, string>
  readonly #titles: string[] = []
  readonly #played = new Map<string, string>()
  #playing = new Transcript(false)

  constructor(file: URL) {
    this.#file = fileURLToPath(file)
    this.#recorded = new Map(existsSync(file) ? blocksIn(readFileSync(file, 'utf8')) : [])
    // Only what records has something to do at the end.
    if (this.#folder !== undefined) afterAll(() => this.#write())
  }

  /** Opens a store for the test that plays. */
  readonly open: OpenStore = (opening) => this.#playing.open(opening)

  /** The same tools, with tests that hold their transcripts to what was recorded. */
  tools({ describe, test, expect }: TestTools): TestTools {
    let section = ''
    return {
      expect,
      describe: (name, body) =>
        describe(name, () => {
          section = name.replace(/ \(.*\)$/, '')
          body()
        }),
      test: Object.assign(
        (title: string, body: () => Promise<void>) => {
          const name = `${section}: ${title}`
          this.#titles.push(name)
          test(title, async () => {
            this.#playing = new Transcript(this.#isWhole)
            await body()
            const { text } = this.#playing
            if (this.#folder === undefined) expect(text, advice).toBe(this.#recorded.get(name) ?? '')
            else this.#played.set(name, text)
          })
        },
        { skip: (title: string, body: () => Promise<void>) => test.skip(title, body) },
      ),
    }
  }

  /** Those of tests that are gone; what records leaves none. */
  get strays(): readonly string[] {
    if (this.#folder !== undefined) return []
    const titles = new Set(this.#titles)
    return [...this.#recorded.keys()].filter((name) => !titles.has(name))
  }

  get #isWhole(): boolean {
    return this.#folder !== undefined && this.#folder !== '1'
  }

  #write(): void {
    const text = [...this.#played].map(([name, lines]) => `# ${name}\n\n${lines}\n`).join('\n')
    const file = this.#isWhole ? path.join(this.#folder ?? '', path.basename(this.#file)) : this.#file
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

function blocksIn(text: string): readonly (readonly [name: string, lines: string])[] {
  return text.split(/^# /m).flatMap((block) => {
    const [name = '', ...lines] = block.trimEnd().split('\n')
    return name === '' ? [] : [[name, lines.slice(1).join('\n')] as const]
  })
}
