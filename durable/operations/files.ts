/** A session's files, for those who are not its model. */
import * as requests from '../workspace/requests.ts';
import { type Host, requireLive, requireReadable } from './host.ts';

type Input<Name extends keyof requests.FilesRpc> = Parameters<requests.FilesRpc[Name]>[0];

export function listFiles(host: Host, input: Input<'listFiles'>) {
  return requests.listFiles(requireReadable(host).workspace, input);
}

export function getFile(host: Host, input: Input<'getFile'>) {
  return requests.getFile(requireReadable(host).workspace, input);
}

export async function putFile(host: Host, input: Input<'putFile'>) {
  const answer = requests.putFile(requireLive(host).parts.workspace, input);
  await host.faults.hit('files.put');
  return answer;
}

export async function deleteFile(host: Host, input: Input<'deleteFile'>) {
  const answer = requests.deleteFile(requireLive(host).parts.workspace, input);
  await host.faults.hit('files.deleted');
  return answer;
}

/** The session is asked for again after the unpacking: it may have been erased meanwhile. */
export async function importFiles(host: Host, input: requests.ImportFiles) {
  const { workspace, receipts } = requireLive(host).parts;
  const commit = <T>(write: () => T): T => requireLive(host).parts.log.commit(write);
  const report = await requests.importFiles({ workspace, receipts, commit }, input);
  await host.faults.hit('files.imported');
  return report;
}
