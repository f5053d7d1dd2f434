/** The devices of this machine, and the clocks around a run. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { DeviceInfo } from '../../protocol/bench';
import type { Addon, Device } from './addon';

export interface OpenDevice {
  readonly device: Device;
  readonly info: DeviceInfo;
  readonly busId: string;
  readonly cacheBytes: number;
  readonly units: number;
}

export function openDevice(addon: Addon, id: string): OpenDevice {
  const match = /^(?:cpu|cuda:(\d+))$/.exec(id);
  if (!match) throw new Error(`There is no device ${id}; devices are named cpu, cuda:0, cuda:1, ...`);
  const cuda = match[1] !== undefined;
  const device = new addon.Device(cuda ? Number(match[1]) : -1);
  const { name, detail, busId, memoryBytes, cacheBytes, units } = device.describe();
  return { device, info: { id, name, kind: cuda ? 'cuda' : 'cpu', detail, memoryBytes }, busId, cacheBytes, units };
}

/** Every device that can be measured on, and why others cannot. */
export function listDevices(addon: Addon): { devices: DeviceInfo[]; notes: string[] } {
  const devices = [openDevice(addon, 'cpu').info];
  const notes: string[] = [];
  const { count, note } = addon.cudaDevices();
  if (count === 0) notes.push(note);
  for (let i = 0; i < count; i++) {
    try {
      devices.push(openDevice(addon, `cuda:${i}`).info);
    } catch (error) {
      notes.push(`cuda:${i}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { devices, notes };
}

type Clocks = Readonly<Record<string, number>>;

/** Clocks in MHz, and on CUDA power in W and temperature in °C; null where the machine does not tell. */
export function readClocks({ info, busId }: OpenDevice): Promise<Clocks | null> {
  return info.kind === 'cpu' ? Promise.resolve(cpuClock()) : cudaClocks(busId);
}

function cpuClock(): Clocks | null {
  try {
    const text = readFileSync('/proc/cpuinfo', 'utf8');
    const all = [...text.matchAll(/^cpu MHz\s*:\s*([\d.]+)/gm)].map((match) => Number(match[1]));
    return all.length > 0 ? { mhz: all.reduce((sum, each) => sum + each, 0) / all.length } : null;
  } catch {
    return null;
  }
}

/** By the place on the bus: nvidia-smi numbers devices otherwise than a process that sees some of them. */
function cudaClocks(busId: string): Promise<Clocks | null> {
  const fields = ['clocks.sm', 'clocks.mem', 'power.draw', 'temperature.gpu'];
  const names = ['smMhz', 'memoryMhz', 'watts', 'celsius'];
  const args = ['-i', busId, `--query-gpu=${fields.join(',')}`, '--format=csv,noheader,nounits'];
  return new Promise((resolve) => {
    execFile('nvidia-smi', args, { timeout: 5000 }, (error, stdout) => {
      const values = stdout
        .trim()
        .split(/\s*,\s*/)
        .map(Number);
      const known = names.flatMap((name, i) => (Number.isFinite(values[i]) ? [[name, values[i] ?? 0] as const] : []));
      resolve(error || known.length === 0 ? null : Object.fromEntries(known));
    });
  });
}
