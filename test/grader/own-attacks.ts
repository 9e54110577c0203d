/** Attacks beyond the shared list. Those on the oracle are wrong code that must stay wrong; those on the host print LEAK if they work. */
import { fileURLToPath } from 'node:url';

const sourceFile = fileURLToPath(new URL('../../package.json', import.meta.url));
const wrong = 'class Solution:\n    def solve(self, n): return 999\n';
const honest = 'class Solution:\n    def solve(self, n): return 2 * n\n';
// This program knows the protocol and steals the nonce from the harness.
const forge = `
import os, marshal, sys
def rec(t, b=b''): return t + sys.modules['harness'].NONCE + len(b).to_bytes(4, 'little') + b
`;

export const oracleAttacks: Readonly<Record<string, string>> = {
  patched_marshal: `import marshal\nreal = marshal.dumps\nmarshal.dumps = lambda v, *a: real(6, 2)\n${wrong}`,
  patched_harness: `import sys\nh = sys.modules.get('harness')\nif h: h.record = lambda t, b=b'': b'd' + bytes(4)\n${wrong}`,
  patched_write: `import os\nreal = os.write\nos.write = lambda fd, b: real(fd, b.replace(b'i\\xe7\\x03\\0\\0', b'i\\x06\\0\\0\\0'))\n${wrong}`,
  forged_done: `${forge}os.write(5, rec(b'c') + rec(b'd'))\n${wrong}`,
  forged_all_then_exit: `${forge}os.write(5, b''.join(rec(b'o', marshal.dumps(v, 2)) for v in (6, 0, -4)) + rec(b'd'))\nos._exit(0)\n${wrong}`,
  forged_outputs_then_exit: `${forge}os.write(5, rec(b'o', marshal.dumps(6, 2)) + rec(b'd'))\nos._exit(0)\n${wrong}`,
  forged_huge_length: `${forge}os.write(5, b'o' + b'\\xff\\xff\\xff\\xff' + b'x' * 70000)\n${wrong}`,
  forged_token: `${forge}os.write(5, b'0' * 40); os.write(1, b'0' * 32)\n${wrong}`,
  forged_begin: `${forge}os.write(5, rec(b'X', b'SetupError') + rec(b'B'))\n${wrong}`,
  reveal_then_rewrite: `${forge}
class A:
    def __eq__(self, other):
        os.write(5, rec(b'o', marshal.dumps(other, 2)) * 3 + rec(b'd'))
        return False
class Solution:
    def solve(self, n): return A()
`,
  waits_for_the_checker: `
import os, select
class Solution:
    def solve(self, n):
        if select.select([4], [], [], 0.05)[0]:
            data = os.read(4, 1000)
            return int.from_bytes(data[-4:], 'little')
        return 999
`,
  asks_to_go_on_early: `${forge}
os.write(5, rec(b's') * 20)
class Solution:
    def solve(self, n): return 999
`,
  thread_outlives_the_call: `${forge}
import threading, time
def late():
    time.sleep(0.01)
    for v in (6, 0, -4): os.write(5, rec(b'o', marshal.dumps(v, 2)))
    os.write(5, rec(b'd'))
threading.Thread(target=late, daemon=True).start()
class Solution:
    def solve(self, n):
        time.sleep(0.03)
        return 999
`,
  atexit_zero: `import atexit, os\natexit.register(lambda: os._exit(0))\n${wrong}`,
  tracing_locals: `
import sys
def tracer(frame, event, arg):
    if 'value' in frame.f_locals: frame.f_locals['value'] = 6
    return tracer
sys.settrace(tracer); sys.setprofile(tracer)
${wrong}`,
  closes_every_descriptor: `import os\nos.closerange(0, 200)\n${wrong}`,
  swaps_descriptors: `import os\nos.dup2(1, 5)\n${wrong}`,
  inherited_memory: `
import gc
hits = [o for o in gc.get_objects() if isinstance(o, (list, tuple)) and len(o) == 3 and list(o)[:1] == [6]]
class Solution:
    def solve(self, n): return hits[0][0] if hits else 999
`,
  int_subclass: `class I(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\nclass Solution:\n    def solve(self, n): return I(2 * n)\n`,
  class_spoof: `class A:\n    __class__ = int\n    def __eq__(self, o): return True\nclass Solution:\n    def solve(self, n): return A()\n`,
  nested_spoof: `class A:\n    def __eq__(self, o): return True\nclass Solution:\n    def solve(self, n): return [A()]\n`,
  bytes_of_marshal: `import marshal\nclass Solution:\n    def solve(self, n): return marshal.dumps(2 * n, 2)\n`,
  float_close: `class Solution:\n    def solve(self, n): return 2 * n + 1e-12\n`,
  string_of_answer: `class Solution:\n    def solve(self, n): return str(2 * n)\n`,
  build_class: `import builtins\nreal = builtins.__build_class__\nbuiltins.__build_class__ = lambda f, n, *a, **k: real(f, n, *a, **k)\n${wrong}`,
  unicode_identifier: `class Solution:\n    def ｓｏｌｖｅ(self, n): return 999\n`,
  giant_int: 'class Solution:\n    def solve(self, n): return 7 ** 2_000_000\n',
  giant_string: "class Solution:\n    def solve(self, n): return 'x' * 500_000_000\n",
  endless_list: 'class Solution:\n    def solve(self, n):\n        a = []\n        a.append(a)\n        return a\n',
  deep_nesting: `class Solution:\n    def solve(self, n):\n        a = []\n        for _ in range(1900): a = [a]\n        return a\n`,
  deep_recursion: `import sys\nsys.setrecursionlimit(10 ** 9)\nclass Solution:\n    def solve(self, n): return self.solve(n + 1)\n`,
  deep_source: `${'('.repeat(5000)}1${')'.repeat(5000)}\n${wrong}`,
  nul_byte: `${wrong}# \0\n`,
  memory: 'class Solution:\n    def solve(self, n):\n        a = bytearray(3 << 30)\n        return len(a)\n',
  swallows_everything: 'class Solution:\n    def solve(self, n):\n        raise BaseException()\n',
  hostile_exception: `class M(type):\n    @property\n    def __name__(cls): raise RuntimeError\nclass E(Exception, metaclass=M): pass\nclass Solution:\n    def solve(self, n): raise E()\n`,
  import_main: `import __main__, sys\nsys.modules['__main__'] = None\n${wrong}`,
  replaces_stdout: `import sys\nclass S:\n    def flush(self): raise SystemExit(0)\n    def write(self, s): pass\nsys.stdout = S()\n${wrong}`,
  many_outputs: `${forge}\nfor _ in range(2000): os.write(5, rec(b'o', marshal.dumps(6, 2)))\n${wrong}`,
};

export const hostAttacks: Readonly<Record<string, string>> = {
  kill_everyone: `import os\n${honest}os.kill(-1, 9)\nprint('LEAK')\n`,
  kill_parent: `import os\n${honest}os.kill(os.getppid(), 9)\nprint('LEAK')\n`,
  raw_kill: `import ctypes, os\n${honest}\nif ctypes.CDLL(None).kill(os.getppid(), 9) == 0: print('LEAK')\n`,
  fork_bomb: `import os\n${honest}while True:\n    os.fork()\n    print('LEAK')\n`,
  raw_fork: `import ctypes\n${honest}if ctypes.CDLL(None).syscall(57) >= 0: print('LEAK')\n`,
  clone_process: `import ctypes\n${honest}if ctypes.CDLL(None).syscall(56, 17, 0, 0, 0, 0) >= 0: print('LEAK')\n`,
  connect: `import socket\n${honest}socket.create_connection(('127.0.0.1', 22), 1)\nprint('LEAK')\n`,
  socketpair: `import socket\n${honest}socket.socketpair()\nprint('LEAK')\n`,
  environment: `import os\n${honest}if any('SECRET' in k or 'HOME' in k for k in os.environ): print('LEAK')\n`,
  proc_self: `${honest}print('LEAK', open('/proc/self/environ').read())\n`,
  proc_list: `import os\n${honest}print('LEAK', os.listdir('/proc'))\n`,
  home: `import os\n${honest}print('LEAK', os.listdir(os.path.expanduser('~') if os.path.expanduser('~') != '/' else '/root'))\n`,
  sources: `import os\n${honest}print('LEAK', open('${sourceFile}').read())\n`,
  big_file: `${honest}f = open('big', 'wb')\nfor _ in range(4096): f.write(bytes(1 << 20)); f.flush()\nprint('LEAK')\n`,
  sparse_file: `${honest}f = open('sparse', 'wb')\nf.truncate(1 << 40)\nprint('LEAK')\n`,
  symlink: `import os\n${honest}os.symlink('/etc/passwd', 'result.txt')\nprint('LEAK')\n`,
  hard_link: `import os\n${honest}open('a', 'w').close()\nos.link('a', 'b')\nprint('LEAK')\n`,
  fifo: `import os\n${honest}os.mkfifo('result.txt')\nprint('LEAK')\n`,
  deep_directories: `import os\n${honest}for _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\nprint('LEAK')\n`,
  chmod: `import os\n${honest}os.chmod('.', 0)\nprint('LEAK')\n`,
  memfd: `import os\n${honest}os.memfd_create('x')\nprint('LEAK')\n`,
  nonblocking_pipes: `import fcntl, os\n${honest}for fd in (1, 5): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)\nprint('LEAK')\n`,
  raises_limits: `import resource\n${honest}resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))\nprint('LEAK')\n`,
  many_descriptors: `${honest}f = [open('x', 'w') for _ in range(500)]\nprint('LEAK')\n`,
  set_uid: `import os\n${honest}os.setuid(0)\nopen('/etc/shadow').read()\nprint('LEAK')\n`,
  mounts: `import ctypes\n${honest}if ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, None) == 0: print('LEAK')\n`,
  namespaces: `import ctypes\n${honest}if ctypes.CDLL(None).unshare(0x10000000) == 0: print('LEAK')\n`,
  bpf: `import ctypes\n${honest}if ctypes.CDLL(None).syscall(321, 0, 0, 0) >= 0: print('LEAK')\n`,
  io_uring: `import ctypes\n${honest}b = ctypes.create_string_buffer(200)\nif ctypes.CDLL(None).syscall(425, 4, b) >= 0: print('LEAK')\n`,
  shutdown_pipe: `import ctypes\n${honest}if ctypes.CDLL(None).shutdown(5, 2) == 0: print('LEAK')\n`,
};
