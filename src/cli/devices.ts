import { BenchError, listDevices } from '../bench/client';
import { hostOptions, type Context } from './context';
import { EXIT, UsageError, type ExitCode } from './output';

/** `ikbo devices`: what can be measured here, and why what is missing is missing. */
export async function devices(context: Context, json: boolean): Promise<ExitCode> {
  const found = await listDevices(hostOptions(context)).catch(toUsageError);
  if (json) {
    context.output.out(`${JSON.stringify(found, null, 2)}\n`);
    return EXIT.clean;
  }
  for (const device of found.devices) {
    const memory = `${(device.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
    context.output.out(`${device.id.padEnd(8)} ${device.name}  (${device.detail}, ${memory})\n`);
  }
  for (const note of found.notes) context.output.out(`note: ${note}\n`);
  return EXIT.clean;
}

/** A benchmark that cannot run is said in a line or two, with the command that mends it. */
export function toUsageError(error: unknown): never {
  if (!(error instanceof BenchError)) throw error;
  const command = error.command === null ? '' : `\n  run: ${error.command}`;
  const details = error.details === null ? '' : `\n${error.details}`;
  throw new UsageError(`${error.message}${command}${details}`);
}
