/** The guards of a session's promises: how each is taken out of the code, and who must notice. */

export interface Guard {
  /** What is taken out, and so what goes wrong. */
  what: string;
  edits: { file: string; from: string; to: string }[];
  /** Scenarios of the kill tests. */
  scenarios: string[];
  /** Test files to run, where not those of the scenarios alone. */
  files: string[];
}

const SCENARIO_FILES = [
  'test/faults/inputs.test.ts',
  'test/faults/work.test.ts',
  'test/faults/endings.test.ts',
];

function guard(
  what: string,
  scenarios: string[],
  edits: Guard['edits'],
  files: string[] = SCENARIO_FILES,
): Guard {
  return { what, edits, scenarios, files };
}

export const GUARDS: readonly Guard[] = [
  guard(
    'the alarm is armed in the commit that admits a message',
    ['prompts'],
    [{ file: 'durable/inbox/admit.ts', from: '    if (wakes) ports.arm();\n', to: '' }],
  ),
  guard(
    'the alarm is armed anew when it fires in the middle of a turn',
    ['tools'],
    [
      {
        file: 'durable/operations/drive.ts',
        from: '  watchdog.arm();\n  if (!isStuck',
        to: '  if (!isStuck',
      },
    ],
  ),
  guard(
    'no alarm is left when the session is idle',
    ['prompts'],
    [{ file: 'durable/loop/driver.ts', from: '    else ports.watchdog.disarm();\n', to: '' }],
  ),
  guard(
    'an attempt is counted before the model is asked again after a restart',
    ['prompts', 'tools'],
    [
      {
        file: 'durable/loop/request.ts',
        from: '  ports.log.commit((append) =>\n    beginAttempt(',
        to: '  if (failed) ports.log.commit((append) =>\n    beginAttempt(',
      },
    ],
  ),
  guard(
    'a claim leaves the inbox in the commit that logs it',
    ['prompts'],
    [
      { file: 'durable/loop/step.ts', from: '    ports.inbox.remove(claimed);\n', to: '' },
      {
        file: 'durable/loop/step.ts',
        from: "  await pass(ports, 'step.entered');\n",
        to: "  await pass(ports, 'step.entered');\n  ports.inbox.remove(claimed);\n",
      },
    ],
  ),
  guard(
    'a started call is run again only where its tool is idempotent',
    ['tools', 'many-steps'],
    [
      {
        file: 'durable/loop/recovery.ts',
        from: 'tools?.get(name)?.idempotent === true',
        to: 'tools?.has(name) === true',
      },
    ],
  ),
  guard(
    'a takeover settles the calls that nobody runs',
    ['tools', 'many-steps'],
    [
      {
        file: 'durable/loop/recovery.ts',
        from: "  if (left !== 'parked') await recoverCalls(ports, signal);\n",
        to: '',
      },
    ],
  ),
  guard(
    'a takeover is counted, and a turn that kills its object ends',
    [],
    [
      {
        file: 'durable/loop/recovery.ts',
        from: 'if (inRow <= MOST_IN_ROW && total <= MOST_IN_ALL) return null;',
        to: 'if (total > 0) return null;',
      },
    ],
    ['test/faults/limits.test.ts'],
  ),
  guard(
    'the start reads no more than the open turn',
    [],
    [
      {
        file: 'durable/wiring.ts',
        from: 'if (openTurnSeq > 0) {',
        to: 'log.read(1, log.lastSeq());\n  if (openTurnSeq > 0) {',
      },
    ],
    ['test/faults/limits.test.ts'],
  ),
  guard(
    'the rows of a streamed answer go in the commit that logs it',
    ['viewers'],
    [
      {
        file: 'durable/loop/request.ts',
        from: "      ...(interrupted ? { interrupted } : {}),\n      surface: 'append',\n    });\n    ports.stream.clear();\n",
        to: "      ...(interrupted ? { interrupted } : {}),\n      surface: 'append',\n    });\n",
      },
    ],
  ),
  guard(
    'a receipt is kept with the message, so that a second try is the same message',
    ['prompts'],
    [
      {
        file: 'durable/inbox/admit.ts',
        from: '    ports.receipts.keep(input.idempotency, answer);\n',
        to: '',
      },
    ],
  ),
  guard(
    'a cancel is durable when it is acknowledged',
    ['cancel-answer'],
    [
      {
        file: 'durable/operations/cancel.ts',
        from: 'state.write({ cancel: { turn, by, claimed } });',
        to: 'state.read();',
      },
    ],
  ),
  guard(
    'a takeover heeds a cancel that came before the restart',
    ['cancel-answer'],
    [
      {
        file: 'durable/loop/recovery.ts',
        from: '  if (cancel?.turn === openTurnOf(ports).turn) throw new TurnCancelled(cancel.by);\n',
        to: '',
      },
    ],
  ),
  guard(
    'a request that failed is not made again before it is due',
    ['retries'],
    [
      {
        file: 'durable/loop/request.ts',
        from: '    if (left > 0) await pause(left, signal, ports.wait);\n',
        to: '',
      },
    ],
  ),
  guard(
    'what a cancelled turn lacks is added before it ends',
    ['cancel-tool'],
    [
      {
        file: 'durable/loop/turn-end.ts',
        from: '    for (const event of repairStep(before, interruptionOf(reason))) append(event);\n',
        to: '',
      },
    ],
  ),
  guard(
    'the oldest prompt is taken first',
    ['prompts'],
    [{ file: 'durable/inbox/inbox.ts', from: 'SELECT min(position)', to: 'SELECT max(position)' }],
  ),
  guard(
    'what steers is taken by the turn that runs',
    ['steer'],
    [
      {
        file: 'durable/loop/turn.ts',
        from: 'state.calls.length > 0 || ports.inbox.hasNextStep()',
        to: 'state.calls.length > 0',
      },
    ],
  ),
  guard(
    'what is discarded is logged',
    ['discard', 'cancel-preparation'],
    [
      {
        file: 'durable/operations/discard.ts',
        from: "  for (const { message } of removed) append({ type: 'inbox/discarded', message, cause });\n",
        to: '',
      },
    ],
  ),
  guard(
    'an erasing is durable from its first commit',
    ['erase'],
    [{ file: 'durable/operations/erase.ts', from: '      markErasing(host.sql);\n', to: '' }],
  ),
  guard(
    'an unfinished copy is swept away by an alarm',
    ['fork'],
    [{ file: 'durable/operations/fork.ts', from: '  await armSweep(host);\n', to: '' }],
  ),
  guard(
    'the state row says that a turn is open',
    ['prompts'],
    [
      {
        file: 'durable/loop/turn.ts',
        from: '    ports.state.write({ turns: turn, openTurnSeq });\n',
        to: '    ports.state.write({ turns: turn });\n',
      },
    ],
  ),
  guard(
    'a stream takes a new stub after its object was reset',
    ['viewers'],
    [
      {
        file: 'worker/routes/objects.ts',
        from: '        const stub = open();\n',
        to: '        const stub = first;\n',
      },
      {
        file: 'worker/routes/objects.ts',
        from: '  return new Proxy(open(), {',
        to: '  const first = open();\n  return new Proxy(first, {',
      },
    ],
  ),
];
