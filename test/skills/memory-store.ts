/** A namespace in memory as a publisher works on it. It tells what is done to it, in order. */
import type { KvEntry } from '../../scripts/skills/bundle.ts';
import type { SkillStore } from '../../scripts/skills/store.ts';

export class MemoryStore implements SkillStore {
  readonly values = new Map<string, Uint8Array>();
  /** Keys written, in order. */
  written: string[] = [];
  /** Called before keys are removed: another writer's moment. */
  beforeRemoval: () => void = () => {};

  readTexts(keys: readonly string[]): Promise<Map<string, string>> {
    const texts = new Map<string, string>();
    for (const key of keys) {
      const bytes = this.values.get(key);
      if (bytes !== undefined) texts.set(key, new TextDecoder().decode(bytes));
    }
    return Promise.resolve(texts);
  }

  listKeys(prefix: string): Promise<string[]> {
    return Promise.resolve([...this.values.keys()].filter((key) => key.startsWith(prefix)).sort());
  }

  put(entries: readonly KvEntry[]): Promise<void> {
    for (const { key, bytes } of entries) {
      this.values.set(key, bytes);
      this.written.push(key);
    }
    return Promise.resolve();
  }

  remove(keys: readonly string[]): Promise<void> {
    this.beforeRemoval();
    for (const key of keys) this.values.delete(key);
    return Promise.resolve();
  }
}
