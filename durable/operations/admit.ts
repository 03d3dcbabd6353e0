import { admitMessage } from '../inbox/index.ts';
import type { AdmitMessage, Receipt } from '../rpc.ts';
import { listSession, wakeIfNeeded } from './drive.ts';
import { type Host, refuseDamagedInbox, requireLive } from './host.ts';

/** Keeps a message and answers with its receipt; then the turn begins, whether or not anybody waits for it. */
export async function admit(host: Host, input: AdmitMessage): Promise<Receipt> {
  const { provider, model } = requireLive(host).ports.baseCall();
  const onlyText = input.content.every((block) => block.type === 'text');
  const accepts = onlyText ? () => true : (await host.models(provider, model)).accepts;
  await host.faults.hit('admit.checked');
  const live = requireLive(host);
  const { parts } = live;
  refuseDamagedInbox(live);
  const receipt = admitMessage(
    {
      ...parts,
      session: parts.identity.id,
      accepts,
      model: `${provider}/${model}`,
      arm: host.watchdog.arm,
    },
    input,
  );
  await host.faults.hit('admit.committed');
  wakeIfNeeded(host);
  if (!parts.state.read().listed) listSession(host, live);
  return receipt;
}
