/** Programs that press on what is shared: pages, threads, descriptors, time, the comparison. Each must stay wrong and harm nobody. */
const wrong = 'class Solution:\n    def solve(self, n): return 999\n';

function flooder(descriptor: number): string {
  return `
import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
${wrong}
while True:
    try: os.write(${descriptor}, b'x' * 65536)
    except OSError: pass
`;
}

export const flooders: readonly string[] = [1, 4, 5].map(flooder);

export const pressure: Readonly<Record<string, string>> = {
  page_toucher: `
import mmap, os, sys
touched = 0
for folder in sys.path:
    for name in sorted(os.listdir(folder))[:400] if os.path.isdir(folder) else []:
        try:
            with open(os.path.join(folder, name), 'rb') as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
                touched += sum(pages[at] for at in range(0, len(pages), 4096))
        except (OSError, ValueError): pass
${wrong}`,
  memory_toucher: `
pieces = []
try:
    while True: pieces.append(bytearray(16 << 20))
except MemoryError: pass
${wrong}`,
  thread_holder: `
import threading, time
${wrong}
try:
    while True: threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
except RuntimeError: pass
`,
  floods_output: flooder(1),
  floods_inputs: flooder(4),
  floods_records: flooder(5),
  sleeper: `import time\n${wrong}time.sleep(100)\n`,
  sleeper_in_its_tests: `import time\n${wrong}def run_tests():\n    time.sleep(100)\n`,
  asks_for_ever: `${wrong}def run_tests():\n    n = 0\n    while True:\n        n += 1\n        Solution().solve(n)\n`,
  big_int: 'class Solution:\n    def solve(self, n): return 1 << 700_000\n',
  big_int_in_a_question: `${wrong}def run_tests():\n    Solution().solve(1 << 7_000_000)\n`,
};
