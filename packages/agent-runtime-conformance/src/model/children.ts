import { childName } from '@ku0/agent-runtime-core'
import type { ModelChild, ModelTask } from './records.ts'

// The reference model's rules of children. Source: `docs/semantics.md 5.5`.

/** The child that a task is to its parent, as long as the parent asks for it. */
export function asChild(task: ModelTask): ModelChild | undefined {
  return openChildren(task.parent).find((child) => child.task === task)
}

function openChildren(task: ModelTask | undefined): readonly ModelChild[] {
  return [...(task?.children.values() ?? [])].filter(({ isOpen }) => isOpen)
}

/** No parent gets the ends of the open children any more. Returns the children that are to end with their parent. */
export function closeChildren(task: ModelTask): readonly ModelTask[] {
  const open = openChildren(task)
  for (const child of open) child.isOpen = false
  return toCancel(open)
}

/** The children of a branch that was given up are forgotten; those that outlive the task outlive the branch. */
export function dropChildren(task: ModelTask, keys: readonly string[]): readonly ModelTask[] {
  const dropped = openChildren(task).filter(({ key, policy }) => policy === 'cancel' && keys.includes(key))
  forget(task, dropped)
  return toCancel(dropped)
}

/** All that was spawned after the event `since` is forgotten, with the ends that were not read yet. */
export function sendBackChildren(task: ModelTask, since: number): readonly ModelTask[] {
  const spawned = [...task.children.values()].filter(({ seq }) => seq > since)
  const open = spawned.filter(({ isOpen }) => isOpen)
  forget(task, spawned)
  const names = new Set(spawned.map(({ key }) => childName(key)))
  const left = task.signals.filter(({ name }) => !names.has(name))
  task.signals.splice(0, task.signals.length, ...left)
  return toCancel(open)
}

function forget(task: ModelTask, children: readonly ModelChild[]): void {
  for (const child of children) {
    child.isOpen = false
    task.children.delete(child.key)
  }
}

function toCancel(children: readonly ModelChild[]): readonly ModelTask[] {
  return children.filter(({ policy }) => policy === 'cancel').map(({ task }) => task)
}
