"""Start a command from a small process, and report what it cost: `python starter.py FILE COMMAND …`.

On Linux the peak of memory of a process includes that of the process which started it (`exec_mmap` in fs/exec.c takes
it over, and `subprocess` starts by vfork). That of the benchmarks is hundreds of megabytes once they hold their inputs.
"""

import json
import os
import subprocess
import sys
import time

report, *command = sys.argv[1:]
start = time.perf_counter()
with subprocess.Popen(command) as process:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
elapsed = time.perf_counter() - start
with open(report, "w", encoding="utf-8") as file:
    json.dump([process.returncode, usage.ru_utime + usage.ru_stime, elapsed, usage.ru_maxrss / 1024], file)
