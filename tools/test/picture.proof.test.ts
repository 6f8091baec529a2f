import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { draw, runAndKill } from '../picture.ts'

/** What the picture says, without the places and times, which differ from run to run. */
function said(svg: string): readonly string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>|class="(step|lost|life)"/g)].map(([, text, box]) =>
    (text ?? box ?? '').replace(/[\d.]+ seconds/, 'seconds'),
  )
}

test('the picture of a killed task shows what a run does', async () => {
  const kept = readFileSync(resolve(import.meta.dirname, '../../docs/killed-task.svg'), 'utf8')
  const run = await runAndKill()
  expect(run.lives.map(({ began }) => began.map(({ step }) => step))).toEqual([
    [1, 2, 3, 4],
    [4, 5, 6],
  ])
  expect(said(draw(run))).toEqual(said(kept))
})
