import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  createTestRuntime,
  TaskStuck,
  type TestRuntime,
} from '../../packages/agent-runtime/src/testing/index.ts'
import { tasks as stages, webTesting } from '../../examples/12-web-testing/src/pipeline.ts'
import { startSite } from '../../examples/12-web-testing/src/site.ts'
import { answer } from '../../examples/14-security-audit/src/analyst.ts'
import { audit, reportSchema, tasks as scanners } from '../../examples/14-security-audit/src/audit.ts'
import { planted, startTarget } from '../../examples/14-security-audit/src/target.ts'

describe('a stage of a case study that fails', () => {
  test('starts again by itself: the scan of the network, and no other', async () => {
    const place = mkdtempSync(join(tmpdir(), 'security-audit-'))
    try {
      await using target = await startTarget(join(place, 'files'))
      await using it = await createTestRuntime({ tasks: scanners, patienceMs: 2_000 })
      const { url, ports, folder } = target
      const { taskId } = await it.runtime.submit(audit, { url, ports, folder })
      // All that is wrong with the target is found, and nothing else.
      const { findings } = await reportOf(it, taskId)
      expect(findings.map(({ title }) => title).toSorted()).toEqual([...planted].toSorted())
      const all = (await it.runtime.list({ limit: 100 })).tasks.map(({ type, attempt }) => [type, attempt])
      expect(Object.fromEntries(all)).toMatchObject({ network: 2, web: 1, config: 1, report: 1 })
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  })

  test('starts again by itself: the load on the API, with the scripts that it had written', async () => {
    await using site = await startSite({ pages: 9, pageMs: 0, apiMs: 0 })
    await using it = await createTestRuntime({ tasks: stages, patienceMs: 2_000 })
    await it.run(webTesting, { site: site.url })
    const all = (await it.runtime.list({ limit: 100 })).tasks
    const attempts = all.map(({ type, attempt }) => [type, attempt])
    expect(Object.fromEntries(attempts)).toMatchObject({
      recon: 1,
      behavior: 1,
      load: 2,
      observer: 1,
      synthesis: 1,
    })
    const load = all.find(({ type }) => type === 'load')
    const { steps } = await it.history(load?.taskId ?? '')
    const runs = (part: string) => steps.filter(({ key }) => key.startsWith(part)).map((step) => step.runs)
    expect(runs('write ')).toEqual([1, 1, 1, 1])
    // The first API had no time for its first call, and no other.
    expect(runs('run ')).toEqual([2, 1, 1, 1])
  })
})

/** The report of an audit whose questions the analyst answers, whenever it waits for nothing else. */
async function reportOf(it: TestRuntime, taskId: string) {
  for (;;) {
    const result = await it.result(taskId).catch((error: unknown) => error)
    if (!(result instanceof TaskStuck)) return reportSchema.parse((result as { report: unknown }).report)
    if ((await answer(it.runtime)).length === 0) throw result
  }
}
