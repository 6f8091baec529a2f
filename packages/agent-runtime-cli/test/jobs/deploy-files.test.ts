import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { formOf } from './form-of.ts'

const folder = join(import.meta.dirname, '../../../../docs/deploy')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')

/** The documents of a YAML file. */
const documents = (file: string): unknown[] =>
  parseAllDocuments(read(file), { strict: true }).map((it) => {
    expect(it.errors).toEqual([])
    return it.toJS() as unknown
  })

test('Compose and Kubernetes know every field of the files of docs/deploy', () => {
  formOf('compose').parse(documents('compose.yaml')[0])
  formOf('kubernetes-job').parse(documents('kubernetes-job.yaml')[0])
  const [claim, deployment] = documents('kubernetes.yaml')
  expect(claim).toMatchObject({ apiVersion: 'v1', kind: 'PersistentVolumeClaim' })
  formOf('kubernetes-deployment').parse(deployment)
})

test('a field that a service does not know is refused', () => {
  const [job] = documents('kubernetes-job.yaml')
  const misspelt: unknown = JSON.parse(JSON.stringify(job).replace('backoffLimit', 'backOffLimit'))
  expect(() => formOf('kubernetes-job').parse(misspelt)).toThrow('backOffLimit')
})

test('no service tries a job again', () => {
  expect(documents('kubernetes-job.yaml')[0]).toMatchObject({ spec: { backoffLimit: 0 } })
  expect(documents('cloud-run-job.yaml')[0]).toMatchObject({
    kind: 'Job',
    spec: { template: { spec: { template: { spec: { maxRetries: 0 } } } } },
  })
  expect(documents('lambda.yaml')[0]).toMatchObject({
    Resources: { Agent: { Properties: { EventInvokeConfig: { MaximumRetryAttempts: 0 } } } },
  })
  const azure = JSON.parse(read('azure-job.json')) as { readonly resources: readonly [AzureJob] }
  const [{ properties }] = azure.resources
  expect(properties.configuration).toMatchObject({ triggerType: 'Manual', replicaRetryLimit: 0 })
  formOf('azure-start').parse(properties.template)
  expect(read('modal_jobs.py')).toContain('retries=0')
})

interface AzureJob {
  readonly properties: { readonly configuration: unknown; readonly template: unknown }
}
