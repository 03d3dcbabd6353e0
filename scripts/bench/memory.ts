/** Memory of another process, as Linux tells it. */
import { readFile } from 'node:fs/promises';

const KB_PER_MB = 1_024;
const POLL_MS = 50;

/** Resident, in MB; null where the system does not say. */
export async function readMemory(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(status);
  return found === null ? null : Number(found[1]) / KB_PER_MB;
}

/** The most that it had while `work` ran; null where the system does not say. */
export async function watchMemory<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ result: T; most: number | null }> {
  let most: number | null = null;
  const look = async (): Promise<void> => {
    const now = await readMemory(pid);
    if (now !== null) most = Math.max(most ?? 0, now);
  };
  const timer = setInterval(() => void look(), POLL_MS);
  try {
    const result = await work();
    await look();
    return { result, most };
  } finally {
    clearInterval(timer);
  }
}
