"""Runs every check of the kernels on this machine's GPUs and summarizes it for `checks/suite.txt`:

    python3 kernels/results/suite.py --build build/native --delay build/native-delay/libikbo.so --out FOLDER [--at-once 20] [NAME ...]

--build: a folder as `node scripts/native.mjs build` leaves it, with its tests. --delay: a library built with -DIKBO_DELAY=20000
-DIKBO_SPIN_LIMIT=4000000. First it shows that the library and the tests carry the device code of that build and no other. Programs run at the
same time, since nothing is timed; each writes FOLDER/NAME.txt, and FOLDER/suite.txt gets a line when one ends. Exit code 1 when one failed."""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FATBIN = bytes.fromhex("50ed55ba")  # how an image of device code begins
LONGEST = 560  # seconds
OPERATORS = ("linear-compression", "concat-linear", "attention")
CHECKS = [sys.executable, str(ROOT / "kernels/check"), "--no-time", "--operators"]
#: For the sanitizers, without the calls that are to be refused.
SELECTIONS = {
    "LinearCompression": "LinearCompression.*:-*Refuses*",
    "ConcatLinear": "ConcatLinear.*:-*Refuses*",
    "CudaAttention": "CudaAttention.*:Attention.KeyCounts:Attention.Maps:Attention.Ragged",
}


def images(build):
    """Lines that name the device code, or SystemExit where a program carries other code than was compiled."""
    compiled = {path.stem: path.read_bytes() for path in sorted((build / "cuda").glob("*.fatbin"))}
    for program in (build / "libikbo.so", build / "ikbo.node", build / "test/ikbo_test"):
        data = program.read_bytes() if program.exists() else None
        if data is None:
            continue
        lacking = [name for name, image in compiled.items() if image not in data]
        others = data.count(FATBIN) - sum(image.count(FATBIN) for image in compiled.values())
        allowed = 1 if program.name == "ikbo_test" else 0  # wrappers.cu, of the tests alone
        if lacking or others != allowed:
            raise SystemExit(f"{program}: lacks {', '.join(lacking) or 'nothing'}, carries {others} other images")
        yield f"{program.name}: carries the {len(compiled)} images below{' and that of wrappers.cu' if allowed else ''}, no other"
    for name, image in compiled.items():
        yield f"  {name} {len(image)} bytes, sha256 {hashlib.sha256(image).hexdigest()}"


def programs(build, delay):
    """{name: (command, environment)}, the longest first."""
    test = [str(build / "test/ikbo_test"), "--gtest_brief=1"]

    def sanitizer(tool, tests):
        return ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *test, f"--gtest_filter={tests}"], {}

    listed = subprocess.run([test[0], "--gtest_list_tests", "--gtest_filter=CudaAttention.*"], capture_output=True, text=True, check=True).stdout
    # Racecheck takes no order from readers who meet before one of them arrives (checks/racecheck-meet.cu), and there reports the table of units.
    alone = ["CudaAttention." + line.strip() for line in listed.splitlines() if line.startswith("  ") and line.strip() != "ManyShortUnits"]
    wanted = {f"racecheck-{name}": sanitizer("racecheck", name) for name in (*alone, "Attention.KeyCounts", "Attention.Maps", "Attention.Ragged")}
    wanted |= {f"racecheck-{name}": sanitizer("racecheck", SELECTIONS[name]) for name in ("LinearCompression", "ConcatLinear")}
    wanted |= {f"{tool}-{name}": sanitizer(tool, tests) for tool in ("memcheck", "initcheck", "synccheck") for name, tests in SELECTIONS.items()}
    wanted["memcheck-wrappers"] = sanitizer("memcheck", "Wrappers.*")
    wanted["gtest"] = test, {}
    wanted["gpu-py"] = [sys.executable, str(ROOT / "kernels/python/tests/gpu.py")], {"IKBO_LENS_LIBRARY": str(build / "libikbo.so")}
    for operator in OPERATORS:
        wanted[f"check-{operator}"] = [*CHECKS, operator, "--library", str(build / "libikbo.so")], {}
        few = ["--stages", "warp-specialized", "--edges", "16", "--repeats", "0"]
        wanted[f"delay-{operator}"] = [*CHECKS, operator, "--library", str(delay), *few], {}
    first = ("RepeatsAreBitIdentical", "check-", "gtest", "CudaAttention", "ConcatLinear", "WholeTiles", "Queries", "KeysAround", "delay-attention")
    return dict(sorted(wanted.items(), key=lambda item: not any(part in item[0] for part in first)))


def run(name, command, environment, out):
    """One line of the summary, and whether it passed."""
    start = time.time()
    log = out / f"{name}.txt"
    with open(log, "w", encoding="utf-8") as file:
        try:
            every = {**os.environ, "IKBO_TEST_DEVICE": "0", **environment}
            code = subprocess.run(command, env=every, stdout=file, stderr=subprocess.STDOUT, timeout=LONGEST).returncode
        except subprocess.TimeoutExpired:
            code = f"none, ended after {LONGEST} s"
    text = log.read_text(encoding="utf-8", errors="replace")
    told = re.findall(r"^.*(?: SUMMARY: |\[  (?:PASSED|SKIPPED|FAILED)|\d+ checks, |PASS all|FAIL \d).*$", text, re.MULTILINE)
    line = f"{name}: exit {code}, {time.time() - start:.0f} s; {' / '.join(dict.fromkeys(each.strip() for each in told)) or 'no words'}"
    with open(out / "suite.txt", "a", encoding="utf-8") as file:
        print(line, file=file, flush=True)
    print(line, flush=True)
    return code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--delay", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("names", nargs="*", help="only those programs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    card = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    for line in (*card.splitlines(), *images(options.build)):
        with open(options.out / "suite.txt", "a", encoding="utf-8") as file:
            print(line, file=file)
        print(line, flush=True)
    wanted = programs(options.build, options.delay)
    with ThreadPoolExecutor(options.at_once) as pool:
        passed = list(pool.map(lambda name: run(name, *wanted[name], options.out), [name for name in wanted if not options.names or name in options.names]))
    print(f"{sum(passed)} of {len(passed)} programs passed", flush=True)
    sys.exit(0 if all(passed) else 1)


main()
